// SPDX-License-Identifier: GPL-2.0-only
/*
 * What modinfo says that Rust's module!() has no words for, and the lock of the
 * parameters.  They are set before the module's Rust half is initialised, so
 * that their lock has to be ready from the start.
 */
#include <linux/module.h>
#include <linux/mutex.h>

#include "shim.h"

/* Protects the settings in rust/kfd/operator/settings.rs. */
static DEFINE_MUTEX(gp_settings_mutex);

/**
 * gp_settings_lock() - take the lock of the module parameters
 *
 * Context: process context, sleeps; not taken already.
 */
void gp_settings_lock(void)
{
	mutex_lock(&gp_settings_mutex);
}

/** gp_settings_unlock() - undo gp_settings_lock(), by the task that called it. */
void gp_settings_unlock(void)
{
	mutex_unlock(&gp_settings_mutex);
}

/* From dkms.conf, by way of Kbuild. */
MODULE_VERSION(GP_VERSION);
MODULE_SOFTDEP("pre: amdgpu");

// SPDX-License-Identifier: GPL-2.0-only
/*
 * What modinfo says that Rust's module!() has no words for, and the lock of the
 * parameters.  They are set before the module's Rust half is initialised, so
 * that their lock has to be ready from the start.
 */
#include <linux/module.h>

#include "shim.h"

/* Protects the settings in rust/kfd/operator/settings.rs. */
DEFINE_MUTEX(gp_settings_mutex);

/* From dkms.conf, by way of Kbuild. */
MODULE_VERSION(GP_VERSION);
MODULE_SOFTDEP("pre: amdgpu");

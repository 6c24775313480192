# SPDX-License-Identifier: GPL-2.0-only
#
# Has the step of configuration run first, as AMD's package does, then kbuild.

.PHONY: modules clean
modules: config.h
	$(MAKE) -C $(HEADERS) M=$(CURDIR) modules

config.h: configure
	./configure $(HEADERS) >$@

clean:
	$(MAKE) -C $(HEADERS) M=$(CURDIR) clean
	rm -f config.h

# SPDX-License-Identifier: Apache-2.0
"""All limits of the end-to-end tests. A limit only ends what hangs: no test may depend on how far it is from one. For a
machine on which a limit is too short there is one factor, HOPSCOTCH_TEST_PATIENCE."""

import os

PATIENCE = float(os.environ.get("HOPSCOTCH_TEST_PATIENCE", "1"))
RUN_LIMIT_S = 300 * PATIENCE  # of a command, or of a job until it ends
WAIT_LIMIT_S = 120 * PATIENCE  # until something is there that a test waits for
SILENCE_S = 5 * PATIENCE  # run.silence_s where a test stops a rank: those that live say something every 0.5 s

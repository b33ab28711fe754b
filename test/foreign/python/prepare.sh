# a virtual environment of the suite's own, with exactly the versions of requirements.txt
set -e
[ -x .venv/bin/python ] || python3 -m venv .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt

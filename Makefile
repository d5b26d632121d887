# Two commands: `make test` and `make demo`. Both see to the tools that they need and use a GPU where there is one.
# FLAGS goes to cmake, as in `make test FLAGS=-DCMAKE_CXX_COMPILER=clang++`.
FLAGS ?=
MODEL ?= tests/data/tiny-glm
RUN = . ./cmake/environment.sh

.PHONY: test demo clean

test:
	@sh cmake/tools.sh
	@$(RUN) && cmake --preset $$PRESET -DKILN_TESTS=ON $(FLAGS) \
	  && cmake --build --preset $$PRESET --target kiln-tests --parallel $$JOBS \
	  && ctest --preset $$PRESET --parallel $$JOBS \
	  && echo "Tested on $$EXECUTOR."

demo:
	@sh cmake/tools.sh demo
	@$(RUN) && cmake --preset $$PRESET -DKILN_TESTS=OFF $(FLAGS) \
	  && cmake --build --preset $$PRESET --target kiln-glm --parallel $$JOBS \
	  && echo "Running on $$EXECUTOR." \
	  && build/bin/kiln-glm $(MODEL) --demo

clean:
	rm -rf build

# The environments, pretrained agents and the page, with compiled kernels: the first episode begins at once.
#
#     make package
#     docker build -t groundling .
#     docker run --rm groundling evaluate zs2-90 --episodes 500
#     docker run --rm -p 8000:8000 groundling play --host 0.0.0.0 --port 8000 --no-browser
FROM python:3.12-slim
ENV PIP_NO_CACHE_DIR=1
# The CPU build of PyTorch, before anything asks for a looser version and downloads the CUDA one.
RUN pip install --index-url https://download.pytorch.org/whl/cpu torch==2.13.0
COPY dist/*.whl /tmp/
RUN pip install "$(ls /tmp/groundling-*.whl)[agent,page]"
RUN useradd --create-home groundling
USER groundling
WORKDIR /home/groundling
RUN groundling warm
ENTRYPOINT ["groundling"]
CMD ["--help"]

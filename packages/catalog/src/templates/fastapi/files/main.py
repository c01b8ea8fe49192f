from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse
from fastapi.staticfiles import StaticFiles

here = Path(__file__).parent
app = FastAPI(title="A small API")
app.mount("/static", StaticFiles(directory=here / "static"), name="static")


@app.get("/", include_in_schema=False)
def index():
    return FileResponse(here / "static" / "index.html")


@app.get("/api/hello")
def hello(name: str = "world"):
    """Greets whoever asks."""
    return {"hello": name}

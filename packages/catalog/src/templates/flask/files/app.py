from datetime import datetime

from flask import Flask, jsonify, render_template, request

app = Flask(__name__)


@app.get("/")
def index():
    return render_template("index.html", now=datetime.now())


@app.get("/api/hello")
def hello():
    return jsonify(hello=request.args.get("name", "world"))

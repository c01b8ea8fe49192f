require "json"
require "sinatra/base"

class App < Sinatra::Base
  get "/" do
    erb :index, locals: { now: Time.now }
  end

  get "/api/hello" do
    content_type :json
    JSON.generate(hello: params.fetch("name", "world"))
  end
end

// The ASP.NET Core entry: minimal API, response compression, gRPC and WebSockets on Kestrel over Millrace. Settings: ArenaSettings.
using Millrace.Arena;
using Millrace.StaticFiles;

ArenaSettings settings = ArenaSettings.FromEnvironment();
WebApplicationBuilder builder = WebApplication.CreateSlimBuilder(args);
// Nobody on the board writes a log; and without one, a request has no scope and no activity for its lines.
builder.Logging.ClearProviders();
Listening.Use(builder.WebHost, settings);
builder.Services.ConfigureHttpJsonOptions(static json => json.SerializerOptions.TypeInfoResolverChain.Insert(0, PageJson.Default));
builder.Services.AddResponseCompression();
builder.Services.AddGrpc();

WebApplication app = builder.Build();
app.Map("/static", files => files.UseMillraceStaticFiles(new SiteOptions { Root = Path.Combine(settings.Data, "static") }));
app.UseResponseCompression();
app.UseWebSockets();
app.MapPages(Dataset.Load(settings.Data));
app.MapGet("/ws", Echo.ServeAsync);
app.MapGrpcService<SumService>();

await app.StartAsync();
Console.WriteLine($"Listening on {app.Urls.First()} ({settings.Transport})");
await app.WaitForShutdownAsync();

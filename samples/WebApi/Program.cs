// An ASP.NET Core application whose transport is chosen when it starts, so that the same program can be compared:
//   TRANSPORT=millrace|sockets|sockets-inline   URL=http://127.0.0.1:5000   HTTPS=off|on|millrace   PROTOCOLS=Http1AndHttp2|Http1|Http2
// HTTPS=on is Kestrel's, an SslStream over whatever transport; HTTPS=millrace is the transport's own.
using System.Net;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using WebApi;

WebApplicationBuilder builder = WebApplication.CreateSlimBuilder(args);
builder.Logging.SetMinimumLevel(LogLevel.Warning);
switch (Setting("TRANSPORT", "millrace"))
{
    case "millrace":
        builder.WebHost.UseMillrace();
        break;
    case "sockets":
        break;
    case "sockets-inline":
        builder.WebHost.UseSockets(static sockets => sockets.UnsafePreferInlineScheduling = true);
        break;
    case string other:
        throw new InvalidOperationException($"TRANSPORT is '{other}': millrace, sockets or sockets-inline.");
}

var url = new Uri(Setting("URL", "http://127.0.0.1:5000"));
builder.WebHost.UseKestrelHttpsConfiguration().ConfigureKestrel(kestrel =>
{
    // A Server field in every answer says nothing that a client can use.
    kestrel.AddServerHeader = false;
    kestrel.Listen(IPAddress.Parse(url.Host), url.Port, endpoint =>
    {
        endpoint.Protocols = Enum.Parse<HttpProtocols>(Setting("PROTOCOLS", nameof(HttpProtocols.Http1AndHttp2)));
        switch (Setting("HTTPS", "off"))
        {
            case "off":
                break;
            case "on":
                endpoint.UseHttps(SelfSigned.Make(url.Host));
                break;
            case "millrace":
                endpoint.UseMillraceHttps(SelfSigned.Make(url.Host));
                break;
            case string other:
                throw new InvalidOperationException($"HTTPS is '{other}': off, on or millrace.");
        }
    });
});
builder.Services.ConfigureHttpJsonOptions(static json => json.SerializerOptions.TypeInfoResolverChain.Insert(0, MillJson.Default));
builder.Services.AddSignalR();

WebApplication app = builder.Build();
app.UseWebSockets();
app.MapPages();
app.MapMills();
app.MapGet("/echo", Echo.ServeAsync);
app.MapHub<MillHub>("/hub");

await app.StartAsync();
Console.WriteLine($"Listening on {app.Urls.Single()} ({Setting("TRANSPORT", "millrace")}); Ctrl-C stops.");
await app.WaitForShutdownAsync();

static string Setting(string name, string standard) => Environment.GetEnvironmentVariable(name) is { Length: > 0 } reported ? reported : standard;

// An application on Kestrel, told where it listens: http://127.0.0.1:0, https://127.0.0.1:0 CERTIFICATE KEY, or unix:/path. Says where in
// the words of the program millrace.
using System.Net;
using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Millrace.ProxiedApplication;

const string Unix = "unix:";
string address = args[0];
WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
builder.Logging.ClearProviders();
builder.Services.AddGrpc();
builder.WebHost.UseKestrelHttpsConfiguration();
builder.WebHost.ConfigureKestrel(kestrel =>
{
    kestrel.Limits.MaxRequestBodySize = null;
    kestrel.Limits.MinRequestBodyDataRate = null;
    kestrel.Limits.MinResponseDataRate = null;
    kestrel.Limits.MaxRequestHeadersTotalSize = 256 * 1024;
    if (address.StartsWith(Unix, StringComparison.Ordinal))
    {
        kestrel.ListenUnixSocket(address[Unix.Length..]);
        return;
    }

    var url = new Uri(address);
    kestrel.Listen(IPAddress.Parse(url.Host), url.Port, endPoint =>
    {
        endPoint.Protocols = HttpProtocols.Http1;
        if (args is [_, var certificate, var key])
        {
            endPoint.UseHttps(X509Certificate2.CreateFromPemFile(certificate, key));
        }
    });
});
await using WebApplication app = builder.Build();
app.UseWebSockets();
app.UseRouting();
app.UseGrpcWeb(new GrpcWebOptions { DefaultEnabled = true });
app.MapGrpcService<MillService>();
app.MapApi();
await app.StartAsync();
Console.WriteLine($"Listening on {(address.StartsWith(Unix, StringComparison.Ordinal) ? address : app.Urls.Single() + "/")}");
Console.WriteLine($"Serving {address}");
await app.WaitForShutdownAsync();

// UseMillraceStaticFiles on Kestrel and its sockets, told like the program millrace: ROOT --listen ADDRESS [FLAG...], as far as its flags
// are options of a site. With --http3 ADDRESS --cert FILE before these it has Millrace's transport, and serves HTTP/3 there. Says where it
// listens in the same words.
using System.Net;
using System.Security.Cryptography.X509Certificates;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.Extensions.Hosting;
using Microsoft.Extensions.Logging;
using Millrace.Conformance.Kestrel;
using Millrace.StaticFiles;

if (args is not [string root, "--listen", string address, .. string[] flags])
{
    Console.Error.WriteLine("Millrace.Conformance.Kestrel: write ROOT --listen ADDRESS:PORT [FLAG...]");
    return 2;
}

WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
builder.Logging.ClearProviders();
builder.WebHost.ConfigureKestrel(kestrel => kestrel.Listen(IPEndPoint.Parse(address)));
if (flags is ["--http3", string address3, "--cert", string certificate, .. string[] others])
{
    flags = others;
    builder.WebHost.UseMillrace().UseKestrelHttpsConfiguration().ConfigureKestrel(kestrel => kestrel.Listen(
        IPEndPoint.Parse(address3),
        listen =>
        {
            listen.Protocols = HttpProtocols.Http3;
            listen.UseHttps(X509Certificate2.CreateFromPemFile(certificate));
        }));
}

await using WebApplication app = builder.Build();
try
{
    app.UseMillraceStaticFiles(SiteArguments.Read(new SiteOptions { Root = root }, flags));
}
catch (SiteException refusal)
{
    Console.Error.WriteLine($"Millrace.Conformance.Kestrel: {refusal.Message}");
    return 1;
}

await app.StartAsync();
foreach (string url in app.Urls)
{
    Console.WriteLine($"Listening on {url}/");
}

Console.WriteLine($"Serving {root}");
await app.WaitForShutdownAsync();
return 0;

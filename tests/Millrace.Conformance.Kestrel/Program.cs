// UseMillraceStaticFiles on Kestrel and its sockets, told like the program millrace: ROOT --listen ADDRESS [FLAG...], as far as its flags
// are options of a site. Says where it listens in the same words.
using System.Net;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
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
Console.WriteLine($"Listening on {app.Urls.Single()}/");
Console.WriteLine($"Serving {root}");
await app.WaitForShutdownAsync();
return 0;

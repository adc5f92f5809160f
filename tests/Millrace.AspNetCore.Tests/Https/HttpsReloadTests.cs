using System.Net;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Configuration;
using Millrace.AspNetCore.Tests.Https.Kit;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.AspNetCore.Tests.Https;

/// <summary>TLS goes with its address, where a configuration that changes while the server runs takes that away.</summary>
public class HttpsReloadTests
{
    [Theory, EachHttps]
    [Trait("Duration", "Full")]
    public async Task What_comes_where_an_address_with_it_was_stays_plain(HttpsKind kind)
    {
        int port = FreePort.Find();
        using var folder = new CertificateFolder();
        string secrets = folder.PathOf("secrets.log");
        var settings = new ConfigurationManager { ["Endpoints:Secure:Url"] = $"http://127.0.0.1:{port}" };
        await using RunningApplication application = await RunningApplication.StartAsync(
            kind.Transport(),
            static context => context.Response.WriteAsync(context.Request.Scheme),
            endpoints: kestrel => kestrel.Configure(settings, reloadOnChange: true).Endpoint(
                "Secure",
                endpoint => endpoint.ListenOptions.UseHttps(kind, options =>
                {
                    options.ServerCertificate = Certificates.Server;
                    (options as MillraceHttpsOptions)?.KeyLogFile = secrets;
                })));
        using HttpClient client = application.NewClient();
        Assert.Equal("https", await client.GetStringAsync($"https://127.0.0.1:{port}/"));

        int later = FreePort.Find();
        settings["Endpoints:Secure:Url"] = $"http://127.0.0.1:{later}";
        // Bound in the order of their names: who has this one has the other.
        settings["Endpoints:Unsecured:Url"] = $"http://127.0.0.1:{port}";
        ((IConfigurationRoot)settings).Reload();
        await Ports.AnsweredAsync(new IPEndPoint(IPAddress.Loopback, port));

        Assert.Equal("http", await client.GetStringAsync($"http://127.0.0.1:{port}/"));
        Assert.Equal("https", await client.GetStringAsync($"https://127.0.0.1:{later}/"));
        // A terminator has the file open for as long as it exists: the first address's goes with its last connection.
        await Waiting.UntilAsync(
            () => Descriptors.CountOf(secrets) == (kind == HttpsKind.Kestrel ? 0 : 1), () => $"{Descriptors.CountOf(secrets)} are left.");
    }
}

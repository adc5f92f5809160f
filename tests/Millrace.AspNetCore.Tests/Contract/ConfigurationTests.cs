using System.Net;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Configuration;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.AspNetCore.Tests.Contract;

/// <summary>Endpoints of a configuration that changes while the server runs: single ones stop and start.</summary>
public class ConfigurationTests
{
    [Theory, EachTransport]
    public async Task Endpoints_come_and_go_with_their_configuration(TransportKind transport)
    {
        var settings = new ConfigurationManager { ["Endpoints:One:Url"] = "http://127.0.0.1:0" };
        await using RunningApplication application = await RunningApplication.StartAsync(
            transport,
            static context => context.Response.WriteAsync("answer"),
            endpoints: kestrel => kestrel.Configure(settings, reloadOnChange: true));
        IPEndPoint one = application.EndPoint;
        using RawClient kept = await RawClient.ConnectAsync(one);
        await kept.GetAsync();

        // A port that was free a moment ago: with 0 Kestrel would have nobody tell which one it has become.
        int port = FreePort.Find();
        settings["Endpoints:Two:Url"] = $"http://127.0.0.1:{port}";
        ((IConfigurationRoot)settings).Reload();
        await Ports.AnsweredAsync(new IPEndPoint(IPAddress.Loopback, port));

        Assert.Equal("answer", (await kept.GetAsync()).Body);

        int later = FreePort.Find();
        settings["Endpoints:Two:Url"] = $"http://127.0.0.1:{later}";
        ((IConfigurationRoot)settings).Reload();
        await Ports.RefusedAsync(new IPEndPoint(IPAddress.Loopback, port));
        await Ports.AnsweredAsync(new IPEndPoint(IPAddress.Loopback, later));
        Assert.Equal("answer", (await kept.GetAsync()).Body);
    }
}

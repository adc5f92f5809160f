using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Admin;

/// <summary>Metrics sent to a collector.</summary>
public class OtlpTests
{
    private const string ApiAssembly = "OpenTelemetry";

    [Fact]
    public async Task A_collector_is_sent_what_was_counted_while_it_serves()
    {
        await using var collector = new Collector();
        await using ServerProcess server = await ServerProcess.StartWithAsync(
            [("OTEL_METRIC_EXPORT_INTERVAL", "200")], Places.SampleSite, "--listen", "127.0.0.1:0", "--otlp", collector.Url.ToString());
        for (int i = 0; i < 7; i++)
        {
            Assert.Equal(200, Wire.Get(server.Url, "/").Status);
        }

        // The one is counted a moment before the other.
        OtlpMetrics metrics = await collector.AwaitAsync(static metrics =>
            metrics.Sums.GetValueOrDefault("millrace.requests") == 7 && metrics.Sums.GetValueOrDefault("millrace.request.duration") == 7);

        Assert.Equal(7, metrics.Sums["millrace.connections.accepted"]);
        Assert.True(metrics.Sums["millrace.site.assets"] > 0);
        Assert.Contains("dotnet.gc.collections", metrics.Sums.Keys);
        Assert.Contains("millrace", metrics.Resource, StringComparison.Ordinal);
        Assert.True(!Publication.IsOrdinary || server.HasLoaded(ApiAssembly));
    }

    [Fact]
    public async Task The_last_is_sent_at_the_end()
    {
        await using var collector = new Collector();
        await using ServerProcess server = await ServerProcess.StartWithAsync(
            [
                ("OTEL_EXPORTER_OTLP_ENDPOINT", collector.Url.ToString()), ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
                ("OTEL_SERVICE_NAME", "aldermere"), ("OTEL_METRIC_EXPORT_INTERVAL", "3600000"),
            ],
            Places.SampleSite, "--listen", "127.0.0.1:0");
        Assert.Equal(200, Wire.Get(server.Url, "/").Status);

        server.Signal(PosixSignal.SIGTERM);

        OtlpMetrics metrics = await collector.AwaitAsync(static metrics => metrics.Sums.GetValueOrDefault("millrace.requests") == 1);
        Assert.Contains("aldermere", metrics.Resource, StringComparison.Ordinal);
        Assert.Equal(0, await server.ExitCodeAsync());
        LogText.AssertOrderlyEnd(await server.ErrorAsync());
    }

    [Theory]
    [InlineData("OTEL_SERVICE_NAME", "aldermere")]
    [InlineData("OTEL_RESOURCE_ATTRIBUTES", "service.name=aldermere,service.version=7.7")]
    public async Task Who_it_is_the_variables_say(string name, string value)
    {
        await using var collector = new Collector();
        await using ServerProcess server = await ServerProcess.StartWithAsync(
            [(name, value), ("OTEL_METRIC_EXPORT_INTERVAL", "200")],
            Places.SampleSite, "--listen", "127.0.0.1:0", "--otlp", collector.Url.ToString());

        OtlpMetrics metrics = await collector.AwaitAsync(static metrics => metrics.Sums.Count > 0);

        Assert.Contains("aldermere", metrics.Resource, StringComparison.Ordinal);
        Assert.Equal(value.Contains("7.7", StringComparison.Ordinal), metrics.Resource.Contains("7.7", StringComparison.Ordinal));
    }

    [Fact]
    public async Task A_collector_that_is_gone_is_told_of_and_nothing_else_happens()
    {
        using var gone = new TcpListener(IPAddress.Loopback, 0);
        gone.Start();
        string url = $"http://{gone.LocalEndpoint}/";
        gone.Stop();
        await using ServerProcess server = await ServerProcess.StartAsync(Places.SampleSite, "--listen", "127.0.0.1:0", "--otlp", url);
        Assert.Equal(200, Wire.Get(server.Url, "/").Status);

        server.Signal(PosixSignal.SIGTERM);

        Assert.Equal(0, await server.ExitCodeAsync());
        string line = Assert.Single(LogText.WithoutEnd(await server.ErrorAsync()).Split('\n', StringSplitOptions.RemoveEmptyEntries));
        Assert.Contains("Metrics export failed", line, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Without_a_collector_nothing_of_it_is_loaded()
    {
        if (!Publication.IsOrdinary)
        {
            // One executable has it in itself, and of that only touched pages are read.
            return;
        }

        await using ServerProcess server = await ServerProcess.StartAsync(Places.SampleSite, "--listen", "127.0.0.1:0", "--admin", "0");
        Assert.Equal(200, Wire.Get(server.Url, "/").Status);

        Assert.True(server.HasLoaded("Millrace.HttpServer"), "Assemblies are not seen: the test proves nothing.");
        Assert.False(server.HasLoaded(ApiAssembly));
    }
}

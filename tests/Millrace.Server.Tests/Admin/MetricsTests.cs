using System.Diagnostics;
using System.Globalization;
using System.IO.Compression;
using System.Net;
using System.Text.Json;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Admin;

/// <summary>What /metrics and /stats.json say of what a server has done.</summary>
public class MetricsTests
{
    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    [Fact]
    public async Task Requests_are_counted_by_method_protocol_and_status()
    {
        await using ServerProcess server = await StartAsync();
        using var client = new HttpClient { BaseAddress = server.Url };
        for (int i = 0; i < 3; i++)
        {
            _ = await client.GetByteArrayAsync(new Uri("styles/site.css", UriKind.Relative));
        }

        using (HttpResponseMessage none = await client.GetAsync(new Uri("none", UriKind.Relative)))
        {
            Assert.Equal(HttpStatusCode.NotFound, none.StatusCode);
        }

        using (var head = new HttpRequestMessage(HttpMethod.Head, new Uri("styles/site.css", UriKind.Relative)))
        {
            (await client.SendAsync(head)).Dispose();
        }

        using (var odd = new HttpRequestMessage(new HttpMethod("BREW"), new Uri("pot", UriKind.Relative)))
        {
            (await client.SendAsync(odd)).Dispose();
        }

        MetricsText metrics = await AwaitAsync(server, static metrics => metrics.Sum("millrace_requests_total") >= 6);

        Assert.Equal(3, metrics.Sum("millrace_requests_total", ("method", "GET"), ("protocol", "1.1"), ("status", "200")));
        Assert.Equal(1, metrics.Sum("millrace_requests_total", ("method", "GET"), ("status", "404")));
        Assert.Equal(1, metrics.Sum("millrace_requests_total", ("method", "HEAD"), ("status", "200")));
        Assert.Equal(1, metrics.Sum("millrace_requests_total", ("method", "other")));
        Assert.Equal(6, metrics.Sum("millrace_requests_total"));
        Assert.Equal(6, metrics.Sum("millrace_request_duration_seconds_count"));
        Assert.InRange(metrics.Sum("millrace_request_duration_seconds_sum"), 1e-7, 600);
    }

    [Fact]
    public async Task Bodies_are_counted_by_coding_strategy_and_bytes()
    {
        using var folder = new TempFolder();
        folder.Add("small.bin", 5_000);
        folder.Add("large.bin", 3_000_000);
        byte[] coded = new byte[6_000];
        Assert.True(BrotliEncoder.TryCompress(await File.ReadAllBytesAsync(folder.PathOf("small.bin")), coded, out int codedBytes));
        await File.WriteAllBytesAsync(folder.PathOf("small.bin.br"), coded[..codedBytes]);
        await using ServerProcess server = await StartAsync(folder.Root);
        using var client = new HttpClient { BaseAddress = server.Url };
        _ = await client.GetByteArrayAsync(new Uri("large.bin", UriKind.Relative));
        _ = await client.GetByteArrayAsync(new Uri("small.bin", UriKind.Relative));

        // Until the coded file is decoded once, the other is sent; a HEAD has no body that counts.
        while (!await IsCodedAsync(HttpMethod.Head))
        {
            await Task.Delay(5, TestContext.Current.CancellationToken);
        }

        Assert.True(await IsCodedAsync(HttpMethod.Get));

        MetricsText metrics = await AwaitAsync(server, static metrics => metrics.Sum("millrace_bodies_total") >= 3);

        Assert.Equal(3_005_000 + codedBytes, metrics.Sum("millrace_body_sent_bytes_total"));
        Assert.Equal(1, metrics.Sum("millrace_bodies_total", ("coding", "br"), ("strategy", "memory")));
        Assert.Equal(1, metrics.Sum("millrace_bodies_total", ("coding", "identity"), ("strategy", "memory")));
        Assert.Equal(1, metrics.Sum("millrace_bodies_total", ("coding", "identity"), ("strategy", "streamed")));

        async Task<bool> IsCodedAsync(HttpMethod method)
        {
            using var request = new HttpRequestMessage(method, new Uri("small.bin", UriKind.Relative));
            request.Headers.AcceptEncoding.ParseAdd("br");
            using HttpResponseMessage response = await client.SendAsync(request);
            return response.Content.Headers.ContentEncoding.SequenceEqual(["br"]);
        }
    }

    [Fact]
    public async Task Requests_over_http2_and_handshakes_are_counted()
    {
        using var folder = new TempFolder();
        await using ServerProcess server = await ServerProcess.StartAsync(
            [Places.SampleSite, "--https", "127.0.0.1:0", "--admin", "0", .. OwnCertificate.Make(folder, "own", "localhost")]);
        using HttpClient client = OwnCertificate.Trusting();
        client.DefaultRequestVersion = HttpVersion.Version20;
        client.DefaultVersionPolicy = HttpVersionPolicy.RequestVersionExact;
        _ = await client.GetByteArrayAsync(server.Url);

        MetricsText metrics = await AwaitAsync(server, static metrics => metrics.Sum("millrace_requests_total") >= 1);

        Assert.Equal(1, metrics.Sum("millrace_requests_total", ("protocol", "2"), ("status", "200")));
        Assert.Equal(1, metrics.Sum("millrace_tls_handshakes_total", ("outcome", "full"), ("group", "x25519")));
    }

    [Fact]
    public async Task It_tells_of_reactors_sites_connections_and_the_runtime()
    {
        await using ServerProcess server = await StartAsync(
            Places.SampleSite, "--reactors", "2", "--host", $"a.example={Places.SampleSite}");
        using Wire open = Wire.Open(server.Url);
        Assert.Equal(200, open.Ask("/").Status);

        MetricsText metrics = await AwaitAsync(server, static metrics => metrics.Sum("millrace_requests_total") == 1);

        Assert.Equal(1, metrics.Sum("millrace_connections_active"));
        Assert.Equal(1, metrics.Sum("millrace_connections_accepted_total"));
        Assert.Equal(2, metrics.Samples.Count(static sample => sample.Name == "millrace_reactor_iterations_total"));
        Assert.True(metrics.Sum("millrace_reactor_completions_total") > 0);
        Assert.True(metrics.Sum("millrace_reactor_lag_seconds_count") > 0);
        Assert.Equal(2 * Places.SampleTargets.Count(), metrics.Sum("millrace_site_assets"));
        Assert.Equal(Places.SampleTargets.Count(), metrics.Sum("millrace_site_assets", ("host", "a.example")));
        Assert.True(metrics.Sum("millrace_site_snapshots") >= 2);
        Assert.True(metrics.Sum("millrace_site_memory_bytes") > 0);
        Assert.Equal(1, metrics.Sum("millrace_build_info"));
        Assert.True(metrics.Sum("process_start_time_seconds") > 1e9);
        Assert.True(metrics.Sum("dotnet_gc_collections_total") >= 1);
        Assert.True(metrics.Sum("dotnet_process_memory_working_set_bytes") > 0);
    }

    [Fact]
    public async Task Prometheus_itself_has_nothing_to_say_against_it()
    {
        Tool.Require("promtool");
        await using ServerProcess server = await StartAsync();
        Assert.Equal(200, Wire.Get(server.Url, "/").Status);
        using var client = new HttpClient { BaseAddress = server.Admin };
        using HttpResponseMessage response = await client.GetAsync(new Uri("metrics", UriKind.Relative));
        Assert.Equal("text/plain; version=0.0.4; charset=utf-8", response.Content.Headers.ContentType!.ToString());

        ProcessStartInfo start = new("promtool", ["check", "metrics"])
        {
            RedirectStandardInput = true,
            RedirectStandardError = true,
            RedirectStandardOutput = true,
        };
        using Process promtool = Process.Start(start)!;
        await response.Content.CopyToAsync(promtool.StandardInput.BaseStream);
        promtool.StandardInput.Close();
        Task<string> output = promtool.StandardOutput.ReadToEndAsync();
        string errors = await promtool.StandardError.ReadToEndAsync().WaitAsync(Deadline);
        await promtool.WaitForExitAsync().WaitAsync(Deadline);

        // It minds names of .NET's own meter, with 3; what does not parse ends with 1.
        string[] remarks = [.. (errors + await output).Split('\n', StringSplitOptions.RemoveEmptyEntries)];
        Assert.DoesNotContain(remarks, static remark => !remark.StartsWith("dotnet_", StringComparison.Ordinal));
        Assert.Equal(remarks.Length == 0 ? 0 : 3, promtool.ExitCode);
    }

    [Fact]
    public async Task The_last_minutes_come_as_json_and_only_what_is_new()
    {
        await using ServerProcess server = await StartAsync();
        for (int i = 0; i < 5; i++)
        {
            Assert.Equal(200, Wire.Get(server.Url, "/").Status);
        }

        using JsonDocument all = await AwaitStatsAsync(server, 0, static stats => Sum(stats, "byClass") >= 5);

        JsonElement[] samples = [.. all.RootElement.GetProperty("samples").EnumerateArray()];
        Assert.Equal(5, Sum(all.RootElement, "byClass"));
        Assert.Equal(5, all.RootElement.GetProperty("requests").GetInt64());
        Assert.Equal("ready", all.RootElement.GetProperty("state").GetString());
        Assert.Equal(JsonValueKind.Null, all.RootElement.GetProperty("trouble").ValueKind);
        Assert.Contains(samples, static sample => sample.GetProperty("p99").ValueKind == JsonValueKind.Number);
        int last = samples[^1].GetProperty("n").GetInt32();
        Assert.Equal(Enumerable.Range(1, last), samples.Select(static sample => sample.GetProperty("n").GetInt32()));
        using JsonDocument news = await AwaitStatsAsync(server, last, static stats => stats.GetProperty("samples").GetArrayLength() > 0);
        Assert.Equal(last + 1, news.RootElement.GetProperty("samples")[0].GetProperty("n").GetInt64());
    }

    /// <summary>An alert that is written from the guide would never fire if the guide had another name.</summary>
    [Fact]
    public async Task The_guide_has_every_metric_and_no_other()
    {
        using var folder = new TempFolder();
        OwnCertificate.Make(folder, "a", "a.example");
        Directory.CreateDirectory(folder.PathOf("site"));
        folder.WriteText("site/index.html", "a page");
        await using ServerProcess server = await StartAsync(
            folder.PathOf("site"), "--https", "127.0.0.1:0", "--cert", folder.PathOf("a.crt"), "--key", folder.PathOf("a.key"),
            "--proxy", "/api/* http://127.0.0.1:1", "--rate-limit", "100/s", "--dictionaries", "--dictionary-dir", folder.PathOf("kept"),
            "--access-log", folder.PathOf("access.log"));
        Assert.Equal(502, Wire.Get(server.Url, "/api/a").Status);
        MetricsText metrics = await AwaitAsync(server, static metrics => metrics.Sum("millrace_requests_total") >= 1);

        // The first is in an example; then those with --acme only, and that of connections over HTTP/3 that have ended (see Http3Tests).
        string[] served = [.. metrics.Types.Keys.Where(static name => name.StartsWith("millrace_", StringComparison.Ordinal))];
        string[] elsewhere = ["millrace_build_info"];
        string[] ofAcme = ["millrace_certificate_renewal_seconds", "millrace_certificate_failures", "millrace_certificate_last_error"];
        string[] ofHttp3 = ["millrace_quic_rtt_seconds"];
        Assert.Equal(served.Except(elsewhere).Concat(ofAcme).Concat(ofHttp3).Order(), DocumentedNames().Order());
    }

    /// <summary>The names in the first column of the guide's table, where "..." stands for the first two words of the name before.</summary>
    private static IEnumerable<string> DocumentedNames()
    {
        foreach (string line in Places.Read("docs/monitoring.md").Split('\n')
            .Where(static line => line.StartsWith("| `millrace_", StringComparison.Ordinal)))
        {
            string stem = "";
            foreach (string name in line.Split('|')[1].Split('`').Where(static part => part.Contains('_', StringComparison.Ordinal)))
            {
                bool isWhole = !name.StartsWith("...", StringComparison.Ordinal);
                stem = isWhole ? string.Join('_', name.Split('_').Take(2)) : stem;
                yield return isWhole ? name : stem + name[3..];
            }
        }
    }

    private static Task<ServerProcess> StartAsync() => StartAsync(Places.SampleSite);

    private static Task<ServerProcess> StartAsync(string root, params string[] arguments) =>
        ServerProcess.StartAsync([root, "--listen", "127.0.0.1:0", "--admin", "0", .. arguments]);

    /// <summary>A request is counted when its answer is with the kernel, which may be after its client has it.</summary>
    private static async Task<MetricsText> AwaitAsync(ServerProcess server, Func<MetricsText, bool> isThere)
    {
        using var client = new HttpClient { BaseAddress = server.Admin };
        long startedAt = Stopwatch.GetTimestamp();
        while (true)
        {
            string text = await client.GetStringAsync(new Uri("metrics", UriKind.Relative));
            MetricsText metrics = MetricsText.Parse(text);
            if (isThere(metrics))
            {
                return metrics;
            }

            Assert.True(Stopwatch.GetElapsedTime(startedAt) < Deadline, text);
            await Task.Delay(20);
        }
    }

    private static async Task<JsonDocument> AwaitStatsAsync(ServerProcess server, long after, Func<JsonElement, bool> isThere)
    {
        using var client = new HttpClient { BaseAddress = server.Admin };
        long startedAt = Stopwatch.GetTimestamp();
        string target = string.Create(CultureInfo.InvariantCulture, $"stats.json?after={after}");
        while (true)
        {
            string text = await client.GetStringAsync(new Uri(target, UriKind.Relative));
            JsonDocument stats = JsonDocument.Parse(text);
            if (isThere(stats.RootElement))
            {
                return stats;
            }

            stats.Dispose();
            Assert.True(Stopwatch.GetElapsedTime(startedAt) < Deadline, text);
            await Task.Delay(20);
        }
    }

    private static long Sum(JsonElement stats, string counts) => stats.GetProperty("samples").EnumerateArray()
        .Sum(sample => sample.GetProperty(counts).EnumerateArray().Sum(static count => count.GetInt64()));
}

using System.Globalization;
using System.IO.Compression;
using System.Net;
using System.Net.Http.Headers;
using System.Security.Cryptography;
using System.Text;
using Millrace.Server.Tests.Kit;
using Millrace.Server.Tests.Proxying.Kit;

namespace Millrace.Server.Tests.Proxying;

/// <summary>An ASP.NET Core application on Kestrel behind the program, for clients of HTTP/1.1 and HTTP/2.</summary>
public sealed class KestrelUpstreamTests : IAsyncLifetime
{
    private ServerProcess _upstream = null!;
    private ProxiedSite _site = null!;

    public static TheoryData<string> Versions => ProxiedSite.Versions;

    public async ValueTask InitializeAsync()
    {
        _upstream = await Upstreams.StartKestrelAsync();
        _site = await ProxiedSite.StartAsync(ProxiedSite.Upstream(_upstream));
    }

    public async ValueTask DisposeAsync()
    {
        await (_site?.DisposeAsync() ?? default);
        await (_upstream?.DisposeAsync() ?? default);
    }

    [Theory]
    [MemberData(nameof(Versions))]
    public async Task Requests_one_after_another_use_one_connection(string version)
    {
        var first = new HashSet<string>();
        for (int i = 0; i < 30; i++)
        {
            first.Add((await _site.GetAsync(version, "/api/echo?a=%20b")).Split('\n')[0]);
        }

        string line = Assert.Single(first);
        Assert.StartsWith("GET /api/echo?a=%20b HTTP/1.1 connection", line, StringComparison.Ordinal);
        Assert.Equal(ProxiedSite.Page, await _site.GetAsync(version, "/"));
    }

    [Theory]
    [MemberData(nameof(Versions))]
    public async Task The_application_learns_the_client_the_scheme_and_the_host(string version)
    {
        string[] lines = (await _site.GetAsync(version, "/api/echo")).Split('\n');
        Assert.Contains("X-Forwarded-For: 127.0.0.1", lines, StringComparer.OrdinalIgnoreCase);
        Assert.Contains("X-Forwarded-Proto: http", lines, StringComparer.OrdinalIgnoreCase);
        Assert.Contains($"X-Forwarded-Host: {_site.Url.Authority}", lines, StringComparer.OrdinalIgnoreCase);
        Assert.Contains($"Host: {_site.Url.Authority}", lines, StringComparer.OrdinalIgnoreCase);
    }

    [Theory]
    [MemberData(nameof(Versions))]
    public async Task Bodies_of_any_method_arrive_whole(string version)
    {
        byte[] body = RandomNumberGenerator.GetBytes(300_000);
        string expected = $"\n{body.Length} {Convert.ToHexStringLower(SHA256.HashData(body))}";
        foreach (string method in (string[])["POST", "PUT", "PATCH", "DELETE", "PROPFIND"])
        {
            foreach (bool isChunked in (bool[])[false, true])
            {
                using HttpContent content = isChunked ? new StreamContent(new OneWayStream(body)) : new ByteArrayContent(body);
                using HttpResponseMessage response = await _site.SendAsync(version, new HttpMethod(method), "/api/echo", content);
                string text = await response.Content.ReadAsStringAsync(TestContext.Current.CancellationToken);
                Assert.StartsWith($"{method} /api/echo HTTP/1.1", text, StringComparison.Ordinal);
                Assert.EndsWith(expected, text, StringComparison.Ordinal);
            }
        }
    }

    [Theory]
    [MemberData(nameof(Versions))]
    public async Task Chunks_ranges_conditions_and_head_are_the_applications(string version)
    {
        Assert.Equal(string.Concat(Enumerable.Range(0, 200).Select(static i => $"chunk {i}\n")), await _site.GetAsync(version, "/api/chunked/200"));

        using HttpResponseMessage head = await _site.SendAsync(version, HttpMethod.Head, "/api/file");
        Assert.Equal((HttpStatusCode.OK, 100_000L), (head.StatusCode, head.Content.Headers.ContentLength));
        Assert.Equal("application/x-mill", head.Content.Headers.ContentType?.ToString());

        using HttpResponseMessage part = await _site.SendAsync(
            version, HttpMethod.Get, "/api/file", change: static request => request.Headers.Range = new RangeHeaderValue(10, 19));
        Assert.Equal(HttpStatusCode.PartialContent, part.StatusCode);
        Assert.Equal("bytes 10-19/100000", part.Content.Headers.ContentRange?.ToString());
        Assert.Equal(Enumerable.Range(10, 10).Select(static i => (byte)(i * 7)), await part.Content.ReadAsByteArrayAsync(TestContext.Current.CancellationToken));

        using HttpResponseMessage unchanged = await _site.SendAsync(
            version, HttpMethod.Get, "/api/file", change: static request => request.Headers.IfNoneMatch.ParseAdd("\"mill\""));
        Assert.Equal(HttpStatusCode.NotModified, unchanged.StatusCode);
        Assert.Equal("\"mill\"", unchanged.Headers.ETag?.ToString());
        Assert.Equal(204, await _site.StatusAsync(version, "/api/status/204"));
        Assert.Equal(418, await _site.StatusAsync(version, "/api/status/418"));

        // After answers without bodies the connection is as it was.
        Assert.StartsWith("GET", await _site.GetAsync(version, "/api/echo"), StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Versions))]
    public async Task Large_fields_and_repeated_ones_pass(string version)
    {
        using HttpResponseMessage response = await _site.SendAsync(
            version, HttpMethod.Get, "/api/fields/12000", change: static request => request.Headers.Add("X-Asked", new string('y', 12_000)));
        Assert.Equal(12_000, Assert.Single(response.Headers.GetValues("X-Large")).Length);
        Assert.Equal(["a=1", "b=2"], response.Headers.GetValues("Set-Cookie"));
    }

    [Theory]
    [MemberData(nameof(Versions))]
    public async Task Coded_bodies_pass_as_they_are(string version)
    {
        using HttpResponseMessage response = await _site.SendAsync(
            version, HttpMethod.Get, "/api/gzip", change: static request => request.Headers.AcceptEncoding.ParseAdd("gzip"));
        Assert.Equal(["gzip"], response.Content.Headers.ContentEncoding);
        await using var gzip = new GZipStream(
            await response.Content.ReadAsStreamAsync(TestContext.Current.CancellationToken), CompressionMode.Decompress);
        using var reader = new StreamReader(gzip);
        Assert.Equal(new string('m', 50_000), await reader.ReadToEndAsync(TestContext.Current.CancellationToken));
    }

    [Theory]
    [MemberData(nameof(Versions))]
    public async Task A_client_that_waits_for_continue_sends_its_body_only_where_it_is_wanted(string version)
    {
        var body = new OneWayStream(new byte[1_000]);
        using HttpResponseMessage taken = await _site.SendAsync(
            version, HttpMethod.Post, "/api/upload", new StreamContent(body), static request => request.Headers.ExpectContinue = true);
        Assert.StartsWith("1000 ", await taken.Content.ReadAsStringAsync(TestContext.Current.CancellationToken), StringComparison.Ordinal);
        if (version == "1.1")
        {
            var refusedBody = new OneWayStream(new byte[1_000]);
            using HttpResponseMessage refused = await _site.SendAsync(
                version, HttpMethod.Post, "/api/refuse", new StreamContent(refusedBody), static request => request.Headers.ExpectContinue = true);
            Assert.Equal((HttpStatusCode.RequestEntityTooLarge, false), (refused.StatusCode, refusedBody.IsRead));
        }

        Assert.StartsWith("GET", await _site.GetAsync(version, "/api/echo"), StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Versions))]
    public async Task Many_requests_at_once_are_not_mixed(string version)
    {
        await Task.WhenAll(Enumerable.Range(0, 400).Select(async i =>
        {
            byte[] body = Encoding.ASCII.GetBytes(i.ToString(CultureInfo.InvariantCulture));
            using HttpResponseMessage response = await _site.SendAsync(version, HttpMethod.Post, $"/api/echo?{i}", new ByteArrayContent(body));
            string text = await response.Content.ReadAsStringAsync(TestContext.Current.CancellationToken);
            Assert.StartsWith($"POST /api/echo?{i} ", text, StringComparison.Ordinal);
            Assert.EndsWith($" {Convert.ToHexStringLower(SHA256.HashData(body))}", text, StringComparison.Ordinal);
        }));
    }

    [Theory]
    [MemberData(nameof(Versions))]
    public async Task An_application_on_a_unix_socket_is_reached(string version)
    {
        using var folder = new TempFolder();
        string address = $"unix:{folder.PathOf("app")}";
        await using ServerProcess upstream = await Upstreams.StartKestrelAsync(address);
        await using ProxiedSite site = await ProxiedSite.StartAsync(address);
        Assert.StartsWith("GET /api/echo HTTP/1.1", await site.GetAsync(version, "/api/echo"), StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Versions))]
    public async Task An_application_with_https_is_verified(string version)
    {
        using var folder = new TempFolder();
        string[] own = OwnCertificate.Make(folder, "app", "localhost");
        OwnCertificate.Make(folder, "other", "localhost");
        await using ServerProcess upstream = await Upstreams.StartKestrelAsync("https://127.0.0.1:0", own[1], own[3]);
        string port = new Uri(upstream.Addresses[0]).Port.ToString(CultureInfo.InvariantCulture);
        await using ProxiedSite site = await ProxiedSite.StartAsync($"https://localhost:{port}", "--proxy-ca", folder.PathOf("app.crt"));
        for (int i = 0; i < 3; i++)
        {
            Assert.StartsWith("GET /api/echo HTTP/1.1", await site.GetAsync(version, "/api/echo"), StringComparison.Ordinal);
        }

        await using ProxiedSite distrusting = await ProxiedSite.StartAsync($"https://localhost:{port}", "--proxy-ca", folder.PathOf("other.crt"));
        Assert.Equal(502, await distrusting.StatusAsync(version, "/api/echo"));
        await using ProxiedSite misnamed = await ProxiedSite.StartAsync($"https://127.0.0.1:{port}", "--proxy-ca", folder.PathOf("app.crt"));
        Assert.Equal(502, await misnamed.StatusAsync(version, "/api/echo"));
    }
}

using System.Diagnostics;
using System.IO.Compression;
using System.Net;
using Millrace.Arena.Tests.Kit;

namespace Millrace.Arena.Tests;

/// <summary>The profiles static, static-tls and static-h2.</summary>
public class StaticTests(Entries entries)
{
    private static readonly Dictionary<string, string> Types = new(StringComparer.Ordinal)
    {
        [".css"] = "text/css",
        [".js"] = "text/javascript",
        [".html"] = "text/html",
        [".json"] = "application/json",
        [".svg"] = "image/svg+xml",
        [".webp"] = "image/webp",
        [".woff2"] = "font/woff2",
    };

    [Theory]
    [MemberData(nameof(Cases.Static), MemberType = typeof(Cases))]
    public async Task Every_file_has_its_type_and_its_bytes(string entry, string backend, BoardPort port)
    {
        HttpClient client = (await entries.GetAsync(entry, backend)).Client(port);
        foreach ((string name, int size) in Board.Sizes)
        {
            using HttpResponseMessage response = await client.GetAsync($"/static/{name}");

            byte[] body = await response.Content.ReadAsByteArrayAsync();
            Assert.Equal(client.DefaultRequestVersion, response.Version);
            Assert.Equal(Types[Path.GetExtension(name)], response.Content.Headers.ContentType?.MediaType);
            Assert.Empty(response.Content.Headers.ContentEncoding);
            Assert.Equal(size, body.Length);
            Assert.Equal(entries.Board.Read(name), body);
        }
    }

    [Theory]
    [MemberData(nameof(Cases.Static), MemberType = typeof(Cases))]
    public async Task A_coded_file_is_the_sibling_on_disk(string entry, string backend, BoardPort port)
    {
        HttpClient client = (await entries.GetAsync(entry, backend)).Client(port);
        foreach (string name in Board.Sizes.Keys)
        {
            await AwaitCodedAsync(client, name);
            byte[] brotli = await AskAsync(client, name, "br;q=1, gzip;q=0.8", Board.IsCoded(name) ? "br" : null);
            Assert.Equal(entries.Board.Read(Board.IsCoded(name) ? $"{name}.br" : name), brotli);
            byte[] gzip = await AskAsync(client, name, "gzip", Board.IsCoded(name) ? "gzip" : null);
            Assert.Equal(entries.Board.Read(Board.IsCoded(name) ? $"{name}.gz" : name), gzip);
            if (Board.IsCoded(name))
            {
                Assert.Equal(entries.Board.Read(name), Decode(gzip));
            }
        }
    }

    [Theory]
    [MemberData(nameof(Cases.Static), MemberType = typeof(Cases))]
    public async Task A_missing_file_is_not_found(string entry, string backend, BoardPort port)
    {
        HttpClient client = (await entries.GetAsync(entry, backend)).Client(port);

        Assert.Equal(HttpStatusCode.NotFound, (await client.GetAsync("/static/nonexistent.txt")).StatusCode);
        Assert.Equal(HttpStatusCode.OK, (await client.GetAsync("/static/reset.css")).StatusCode);
    }

    [Theory]
    [MemberData(nameof(Cases.Static), MemberType = typeof(Cases))]
    public async Task A_changed_file_is_served_as_it_is_now(string entry, string backend, BoardPort port)
    {
        HttpClient client = (await entries.GetAsync(entry, backend)).Client(port);
        string path = Path.Combine(entries.Board.Static, Board.Changing);
        string now = $"now {Guid.NewGuid():N}";
        _ = await client.GetStringAsync($"/static/{Board.Changing}");

        await File.WriteAllTextAsync($"{path}.new", now);
        File.Move($"{path}.new", path, overwrite: true);

        var watch = Stopwatch.StartNew();
        string seen;
        while ((seen = await client.GetStringAsync($"/static/{Board.Changing}")) != now && watch.Elapsed < TimeSpan.FromSeconds(10))
        {
            await Task.Yield();
        }

        Assert.Equal(now, seen);
    }

    /// <summary>Coded files are sent as soon as they have been decoded once, which begins at the start.</summary>
    private static async Task AwaitCodedAsync(HttpClient client, string name)
    {
        var watch = Stopwatch.StartNew();
        while (Board.IsCoded(name) && watch.Elapsed < TimeSpan.FromSeconds(10))
        {
            using HttpResponseMessage brotli = await SendAsync(client, name, "br");
            using HttpResponseMessage gzip = await SendAsync(client, name, "gzip");
            if (brotli.Content.Headers.ContentEncoding.Count > 0 && gzip.Content.Headers.ContentEncoding.Count > 0)
            {
                return;
            }
        }
    }

    private static async Task<byte[]> AskAsync(HttpClient client, string name, string accepted, string? coding)
    {
        using HttpResponseMessage response = await SendAsync(client, name, accepted);

        Assert.Equal(client.DefaultRequestVersion, response.Version);
        Assert.Equal(coding is null ? [] : [coding], response.Content.Headers.ContentEncoding);
        Assert.Equal(Types[Path.GetExtension(name)], response.Content.Headers.ContentType?.MediaType);
        return await response.Content.ReadAsByteArrayAsync();
    }

    private static async Task<HttpResponseMessage> SendAsync(HttpClient client, string name, string accepted)
    {
        using var request = new HttpRequestMessage(HttpMethod.Get, $"/static/{name}")
        {
            Version = client.DefaultRequestVersion,
            VersionPolicy = client.DefaultVersionPolicy,
        };
        request.Headers.TryAddWithoutValidation("Accept-Encoding", accepted);
        return await client.SendAsync(request);
    }

    private static byte[] Decode(byte[] gzip)
    {
        using var stream = new GZipStream(new MemoryStream(gzip), CompressionMode.Decompress);
        using var plain = new MemoryStream();
        stream.CopyTo(plain);
        return plain.ToArray();
    }
}

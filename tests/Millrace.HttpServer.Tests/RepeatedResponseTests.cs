using System.Text;
using Millrace.HttpServer.Tests.Kit;
using Millrace.StaticFiles;

namespace Millrace.HttpServer.Tests;

/// <summary>Repeated requests for one file get the same response, and what differs gets its own.</summary>
public class RepeatedResponseTests : SiteFixture
{
    private const int Size = 10_000;

    /// <summary>Of each size on a connection of its own, all at the same time.</summary>
    [Fact]
    [Trait("Duration", "Full")]
    public async Task Every_response_is_as_the_first_over_seconds()
    {
        (int Size, byte[] Content)[] files = [.. ((int[])[4_095, 4_096, Size, 16_384, 16_385]).Select(size => (size, Folder.AddSized(size)))];
        RunningSite site = await StartAsync();
        await Task.WhenAll(files.Select(async file =>
        {
            Wire wire = await site.ConnectAsync();
            Response first = await wire.GetAsync(SiteFolder.Target(file.Size));
            var dates = new HashSet<string>(StringComparer.Ordinal);
            while (dates.Count < 3)
            {
                Response response = await wire.GetAsync(SiteFolder.Target(file.Size));
                response.AssertIsWhole(file.Content);
                Assert.Equal(first.Fields.Where(IsNotDate), response.Fields.Where(IsNotDate));
                dates.Add(response.Field("Date")!);
            }
        }));
    }

    /// <summary>Each of them right after the others, several times.</summary>
    [Theory]
    [InlineData("HEAD /f10000.bin HTTP/1.1", "", 200, 0)]
    [InlineData("GET /f10000.bin HTTP/1.1", "Range: bytes=5-8", 206, 4)]
    [InlineData("GET /f10000.bin HTTP/1.1", "If-None-Match: *", 304, 0)]
    [InlineData("GET /f10000.bin HTTP/1.1", "Origin: https://a.test", 200, Size)]
    [InlineData("GET /f10000.bin HTTP/1.0", "Connection: keep-alive", 200, Size)]
    [InlineData("GET /f10000.bin?x HTTP/1.1", "", 200, Size)]
    [InlineData("GET /other HTTP/1.1", "", 404, Size)]
    public async Task What_differs_gets_its_own_response(string line, string field, int status, int bytes)
    {
        byte[] content = Folder.AddSized(Size);
        Folder.Add("/404.html", content);
        bool allows = field.StartsWith("Origin", StringComparison.Ordinal);
        RunningSite site = await StartAsync(options => options with
        {
            Cors = allows ? new CorsOptions { Origins = ["https://a.test", "https://b.test"] } : null,
        });
        Wire wire = await site.ConnectAsync();
        string method = line.Split(' ')[0];
        string? plain = null;
        for (int i = 0; i < 6; i++)
        {
            Response usual = await wire.GetAsync("/f10000.bin");
            usual.AssertIsWhole(content);
            plain ??= TextOf(usual);
            Assert.Equal(plain, TextOf(usual));
            await wire.SendAsync($"{line}\r\nHost: a\r\n{field}{(field.Length > 0 ? "\r\n" : "")}\r\n");
            Response response = await wire.ReadResponseAsync(method);
            Assert.Equal((status, bytes), (response.Status, response.Body.Length));
            Assert.Equal(allows ? "https://a.test" : null, response.Field("Access-Control-Allow-Origin"));
            Assert.Equal(line.EndsWith("1.0", StringComparison.Ordinal) ? "keep-alive" : null, response.Field("Connection"));
        }
    }

    [Fact]
    public async Task A_new_version_is_served_at_once_and_many_assets_do_not_mix()
    {
        for (int i = 0; i < 300; i++)
        {
            Folder.Add($"/{i}.bin", Content(i, 0));
        }

        RunningSite site = await StartAsync();
        Wire wire = await site.ConnectAsync();
        for (int version = 0; version < 3; version++)
        {
            for (int i = 0; i < 300; i++)
            {
                for (int times = 0; times < 3; times++)
                {
                    (await wire.GetAsync($"/{i}.bin")).AssertIsWhole(Content(i, version));
                }
            }

            for (int i = 0; i < 300; i++)
            {
                Folder.Add($"/{i}.bin", Content(i, version + 1));
            }

            site.Catalog.Reload();
        }

        static byte[] Content(int file, int version) => Encoding.ASCII.GetBytes($"{file} {version}".PadRight(5_000 + version, 'x'));
    }

    /// <summary>A slow client reads its response while later requests are answered.</summary>
    [Fact]
    [Trait("Duration", "Full")]
    public async Task Who_reads_slowly_gets_the_response_of_its_second()
    {
        byte[] content = Folder.AddSized(Size);
        RunningSite site = await StartAsync();
        Wire slow = await site.ConnectAsync(receiveBufferBytes: 4096);
        Wire quick = await site.ConnectAsync();
        const int Asked = 3_000;
        await slow.SendAsync(string.Concat(Enumerable.Repeat("GET /f10000.bin HTTP/1.1\r\nHost: a\r\n\r\n", Asked)));
        var dates = new HashSet<string>(StringComparer.Ordinal);
        while (dates.Count < 3)
        {
            Response response = await quick.GetAsync("/f10000.bin");
            response.AssertIsWhole(content);
            dates.Add(response.Field("Date")!);
        }

        for (int i = 0; i < Asked; i++)
        {
            (await slow.ReadResponseAsync()).AssertIsWhole(content);
        }
    }

    private static string TextOf(Response response) =>
        $"{response.Status} {string.Join(", ", response.Fields.Where(IsNotDate))}";

    private static bool IsNotDate((string Name, string Value) field) => field.Name != "Date";
}

using System.Net;
using System.Text;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Millrace.AspNetCore.StaticFiles.Bodies;
using Millrace.AspNetCore.Tests.StaticFiles.Kit;
using Millrace.StaticFiles;

namespace Millrace.AspNetCore.Tests.StaticFiles;

/// <summary>Middlewares that put a stream of their own in the place of the body, as caches do: they get the whole of it.</summary>
public sealed class ReplacedBodyTests : IDisposable
{
    private static readonly int[] Sizes = [10, 2_000, 50_000, 300_000, 2_000_000];

    private readonly SiteFolder _folder = new();

    public static TheoryData<string, bool> Pipelines => new()
    {
        { "MemoryStream", true },
        { "MemoryStream", false },
        { "ResponseCaching", true },
        { "ResponseCaching", false },
        { "OutputCache", true },
        { "OutputCache", false },
    };

    public void Dispose() => _folder.Dispose();

    [Theory]
    [MemberData(nameof(Pipelines))]
    public async Task Files_of_every_size_are_whole(string pipeline, bool isInMemory)
    {
        byte[][] contents = [.. Sizes.Select(size => _folder.Add(NameOf(size), size))];
        await using HostedApp app = await StartAsync(pipeline, isInMemory ? new SiteOptions { Root = "" }.CacheFileBytesMax : 0);
        foreach ((int size, byte[] content) in Sizes.Zip(contents))
        {
            // Caches answer the second time, with what they were given the first time.
            for (int time = 0; time < 2; time++)
            {
                using HttpResponseMessage response = await app.AskAsync(HttpMethod.Get, "/" + NameOf(size));
                Assert.Equal((HttpStatusCode.OK, size), (response.StatusCode, response.Content.Headers.ContentLength));
                Assert.Equal(content, await response.Content.ReadAsByteArrayAsync());
            }
        }
    }

    [Theory]
    [MemberData(nameof(Pipelines))]
    public async Task Parts_are_the_bytes_they_name(string pipeline, bool isInMemory)
    {
        byte[] content = _folder.Add("file.bin", 300_000);
        await using HostedApp app = await StartAsync(pipeline, isInMemory ? 1024 * 1024 : 0);
        foreach ((int first, int last) in ((int, int)[])[(7, 16), (100, 5_000), (1, 299_999)])
        {
            using HttpResponseMessage part = await app.AskAsync(HttpMethod.Get, "/file.bin", ("Range", $"bytes={first}-{last}"));
            Assert.Equal(HttpStatusCode.PartialContent, part.StatusCode);
            Assert.Equal(content[first..(last + 1)], await part.Content.ReadAsByteArrayAsync());
        }

        using HttpResponseMessage parts = await app.AskAsync(HttpMethod.Get, "/file.bin", ("Range", "bytes=0-9,2000-99999,-10"));
        byte[] body = await parts.Content.ReadAsByteArrayAsync();
        Assert.Equal(parts.Content.Headers.ContentLength, body.Length);
        foreach (byte[] piece in (byte[][])[content[..10], content[2000..100_000], content[^10..]])
        {
            Assert.True(body.AsSpan().IndexOf(piece) > 0, "a part is missing");
        }
    }

    [Theory]
    [MemberData(nameof(Pipelines))]
    public async Task Texts_of_errors_and_listings_arrive(string pipeline, bool isInMemory)
    {
        _folder.Add("one.txt", "1");
        await using HostedApp app = await StartAsync(pipeline, isInMemory ? 1024 * 1024 : 0);
        using HttpResponseMessage refused = await app.AskAsync(HttpMethod.Delete, "/one.txt");
        Assert.Equal(HttpStatusCode.MethodNotAllowed, refused.StatusCode);
        Assert.Equal("405 Method Not Allowed\r\n", await refused.Content.ReadAsStringAsync());
        (HttpStatusCode status, byte[] listing) = await app.GetAsync("/");
        Assert.Equal(HttpStatusCode.OK, status);
        Assert.Contains("one.txt", Encoding.UTF8.GetString(listing), StringComparison.Ordinal);
        Assert.EndsWith("</html>", Encoding.UTF8.GetString(listing).TrimEnd(), StringComparison.Ordinal);
    }

    /// <summary>Else there would be a flush more for each file in memory.</summary>
    [Theory]
    [InlineData("1.1")]
    [InlineData("2.0")]
    public async Task A_server_s_own_body_is_distinguished_from_another(string version)
    {
        var reported = new List<bool>();
        void Configure(WebApplication app)
        {
            app.Run(context =>
            {
                reported.Add(BodySender.IsReplaced(context));
                Stream own = context.Response.Body;
                context.Response.Body = Stream.Null;
                reported.Add(BodySender.IsReplaced(context));
                context.Response.Body = own;
                reported.Add(BodySender.IsReplaced(context));
                return Task.CompletedTask;
            });
        }

        await using HostedApp app = version == "1.1" ? await HostedApp.StartAsync(Configure) : await HostedApp.StartHttp2Async(Configure);
        await app.GetAsync("/");
        Assert.Equal([false, true, false], reported);
    }

    /// <summary>With a hash of its content, for caches to take it.</summary>
    private static string NameOf(int size) => $"file-{size:x7}a.bin";

    private Task<HostedApp> StartAsync(string pipeline, int inMemoryBytesMax)
    {
        var options = new SiteOptions { Root = _folder.Root, Compression = false, Listing = true, CacheFileBytesMax = inMemoryBytesMax };
        return HostedApp.StartAsync(
            builder =>
            {
                builder.Services.AddResponseCaching();
                builder.Services.AddOutputCache(static caching => caching.AddBasePolicy(static policy => policy.Cache()));
            },
            app =>
            {
                _ = pipeline switch
                {
                    "ResponseCaching" => app.UseResponseCaching(),
                    "OutputCache" => app.UseOutputCache(),
                    _ => app.Use(CopyBackAsync),
                };
                app.UseMillraceStaticFiles(options);
            });
    }

    private static async Task CopyBackAsync(HttpContext context, RequestDelegate next)
    {
        Stream own = context.Response.Body;
        using var memory = new MemoryStream();
        context.Response.Body = memory;
        await next(context);
        context.Response.Body = own;
        memory.Position = 0;
        await memory.CopyToAsync(own);
    }
}

using System.Buffers;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Primitives;
using Millrace.AspNetCore.Tests.StaticFiles.Kit;
using Millrace.StaticFiles;

namespace Millrace.AspNetCore.Tests.StaticFiles;

/// <summary>
/// What a file in memory costs the collector, beside a handler that sets the same fields from prepared values and writes the same bytes:
/// what is left then is Kestrel's own.
/// </summary>
public sealed class AllocationTests : IDisposable
{
    private const int WarmUpRequests = 500;
    private const int Requests = 2_000;

    /// <summary>A few requests are the first on their thread, and make its scratch memory.</summary>
    private const double CountedShare = 0.95;

    private readonly SiteFolder _folder = new();

    public void Dispose() => _folder.Dispose();

    [Theory]
    [InlineData("GET", "/file.txt", "")]
    [InlineData("GET", "/", "")]
    [InlineData("HEAD", "/file.txt", "")]
    [InlineData("GET", "/file.txt", "If-None-Match: *\r\n")]
    [InlineData("GET", "/file.txt", "Accept-Encoding: gzip, br\r\nAccept: text/html,*/*;q=0.8\r\n")]
    [InlineData("GET", "/base/file%2etxt", "")]
    [InlineData("GET", "/base/file.3f2a1b9c.txt", "")]
    public async Task A_file_in_memory_allocates_nothing_of_ours(string method, string target, string fields)
    {
        _folder.Add("file.txt", 10_000);
        _folder.Add("index.html", 3_000);
        _folder.Add("base/file.txt", 100);
        _folder.Add("base/file.3f2a1b9c.txt", 100);
        SiteOptions options = new() { Root = _folder.Root, Compression = false };
        long ours = await MeasureAsync(app => app.UseMillraceStaticFiles(options), method, target, fields);
        long least = await MeasureAsync(static app => app.Run(ResponseByHand), method, target, fields);
        Assert.True(ours <= least, $"{ours} bytes a request, and {least} by hand");
    }

    private static readonly byte[] Body = new byte[10_000];
    private static readonly StringValues Tag = "\"0123456789\"";
    private static readonly StringValues Type = "text/plain; charset=utf-8";

    private static Task ResponseByHand(HttpContext context)
    {
        HttpResponse response = context.Response;
        response.Headers.ETag = Tag;
        response.Headers.ContentType = Type;
        response.ContentLength = Body.Length;
        Task start = response.StartAsync();
        if (!HttpMethods.IsHead(context.Request.Method))
        {
            response.BodyWriter.Write(Body);
        }

        return start;
    }

    /// <summary>The most bytes that nearly all requests allocate below a first middleware, on their own thread.</summary>
    private static async Task<long> MeasureAsync(Action<WebApplication> configure, string method, string target, string fields)
    {
        var allocated = new List<long>(WarmUpRequests + Requests);
        await using HostedApp app = await HostedApp.StartAsync(app =>
        {
            app.Use(next => context =>
            {
                long before = GC.GetAllocatedBytesForCurrentThread();
                Task response = next(context);
                Assert.True(response.IsCompletedSuccessfully, "what is in memory is answered without a wait");
                allocated.Add(GC.GetAllocatedBytesForCurrentThread() - before);
                return response;
            });
            configure(app);
        });
        await KeptConnection.AskAsync(app, $"{method} {target} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n", WarmUpRequests + Requests);
        Assert.Equal(WarmUpRequests + Requests, allocated.Count);
        return allocated.Skip(WarmUpRequests).Order().ElementAt((int)(Requests * CountedShare));
    }
}

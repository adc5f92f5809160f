using System.Diagnostics;
using System.Net;
using System.Security.Cryptography;
using System.Text;
using Millrace.AspNetCore.Tests.StaticFiles.Kit;
using Microsoft.AspNetCore.Builder;
using Millrace.Interop.Zstd;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Dictionaries;

namespace Millrace.AspNetCore.Tests.StaticFiles;

/// <summary>Dictionaries (RFC 9842) in an application: kept in memory unless it names a folder.</summary>
public sealed class DictionaryTests : IDisposable
{
    private const string First = "app-3f2a1b9c.js";
    private const string Second = "app-4b7c1d2e.js";

    private readonly SiteFolder _folder = new();

    public DictionaryTests() => _folder.Add(First, Script(1));

    public void Dispose() => _folder.Dispose();

    [Fact]
    public async Task A_redeployed_file_is_sent_as_a_difference()
    {
        await using HostedApp app = await HostedApp.StartHttp2Async(app => app.UseMillraceStaticFiles(Options));
        using HttpResponseMessage first = await AwaitAsync(app, First, static response => response.Headers.Contains("Use-As-Dictionary"));
        Assert.Equal(["match=\"/app-*.js\""], first.Headers.GetValues("Use-As-Dictionary"));
        _folder.Add(Second, Script(2));
        using HttpResponseMessage coded = await AwaitAsync(
            app, Second, static response => response.Content.Headers.ContentEncoding.Contains("dcz"), ("Accept-Encoding", "br, dcz"), Named);

        Assert.Equal(["Accept-Encoding", "Available-Dictionary"], coded.Headers.Vary);
        byte[] body = await coded.Content.ReadAsByteArrayAsync(TestContext.Current.CancellationToken);
        Assert.Equal(body.Length, coded.Content.Headers.ContentLength);
        Assert.True(ZstdLibrary.TryLoad(out ZstdLibrary? library));
        Assert.True(new ZstdDictionaryCoder(library).IsCodingOf(body, Script(1), Script(2), CancellationToken.None));
        using HttpResponseMessage foreign = await app.AskAsync(
            HttpMethod.Get, $"/{Second}", ("Accept-Encoding", "br, dcz"), Named, ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors"));
        Assert.Equal(["br"], foreign.Content.Headers.ContentEncoding);
    }

    [Fact]
    public async Task Without_tls_and_below_a_path_there_is_nothing_of_it()
    {
        await using HostedApp plain = await HostedApp.StartAsync(app => app.UseMillraceStaticFiles(Options));
        await using HostedApp below = await HostedApp.StartHttp2Async(app => app.Map("/below", branch => branch.UseMillraceStaticFiles(Options)));
        await using HostedApp secure = await HostedApp.StartHttp2Async(app => app.UseMillraceStaticFiles(Options));
        using HttpResponseMessage done = await AwaitAsync(secure, First, static response => response.Headers.Contains("Use-As-Dictionary"));
        foreach ((HostedApp app, string path) in ((HostedApp, string)[])[(plain, First), (below, $"below/{First}")])
        {
            using HttpResponseMessage response = await AwaitAsync(
                app, path, static response => response.Content.Headers.ContentEncoding.Contains("br"), ("Accept-Encoding", "br, dcz"), Named);
            Assert.False(response.Headers.Contains("Use-As-Dictionary"));
        }
    }

    [Fact]
    public async Task Pages_link_to_a_dictionary_which_is_served()
    {
        for (int i = 0; i < 20; i++)
        {
            _folder.Add($"{i}.html", Script(i));
        }

        await using HostedApp app = await HostedApp.StartHttp2Async(app => app.UseMillraceStaticFiles(Options with { PageDictionary = true }));
        using HttpResponseMessage page = await AwaitAsync(app, "7.html", static response => response.Headers.Contains("Link"));
        string link = page.Headers.GetValues("Link").Single();
        Assert.EndsWith("; rel=\"compression-dictionary\"", link, StringComparison.Ordinal);
        string path = link[1..link.IndexOf('>', StringComparison.Ordinal)];
        using HttpResponseMessage dictionary = await app.AskAsync(HttpMethod.Get, path);
        Assert.Equal(HttpStatusCode.OK, dictionary.StatusCode);
        Assert.StartsWith("match=\"/*\"", dictionary.Headers.GetValues("Use-As-Dictionary").Single(), StringComparison.Ordinal);
        Assert.True(dictionary.Headers.CacheControl!.MaxAge > TimeSpan.FromDays(1));
        using HttpResponseMessage failed = await app.AskAsync(HttpMethod.Get, path, ("If-Match", "\"other\""));
        Assert.Equal(HttpStatusCode.PreconditionFailed, failed.StatusCode);
    }

    private SiteOptions Options => new() { Root = _folder.Root, Dictionaries = true, DictionaryProcessorPercent = 100 };

    private static (string Name, string Value) Named => ("Available-Dictionary", $":{Convert.ToBase64String(SHA256.HashData(Script(1)))}:");

    private static byte[] Script(int version) => Encoding.ASCII.GetBytes(string.Concat(
        Enumerable.Range(0, 300).Select(i => $"export const value{i} = 'version {(i % 50 == 0 ? version : 0)} of {i * i * 7919 % 10_007}';\n")));

    private static async Task<HttpResponseMessage> AwaitAsync(
        HostedApp app, string path, Func<HttpResponseMessage, bool> isIt, params (string Name, string Value)[] fields)
    {
        long startedAt = Stopwatch.GetTimestamp();
        while (true)
        {
            HttpResponseMessage response = await app.AskAsync(HttpMethod.Get, $"/{path}", fields);
            if (isIt(response))
            {
                return response;
            }

            response.Dispose();
            Assert.True(Stopwatch.GetElapsedTime(startedAt) < HostedApp.Limit, $"{path} is still answered with\n{response}");
            await Task.Delay(10, TestContext.Current.CancellationToken);
        }
    }
}

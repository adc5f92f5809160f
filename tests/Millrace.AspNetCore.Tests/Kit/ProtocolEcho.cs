using System.Collections.Concurrent;
using System.Net;
using Microsoft.AspNetCore.Http;

namespace Millrace.AspNetCore.Tests.Kit;

/// <summary>Applications that answer with what they were asked by, or with, and what HTTP/2 owes whoever terminates TLS below it.</summary>
internal static class ProtocolEcho
{
    public static Task EchoProtocol(HttpContext context) =>
        context.Response.WriteAsync($"{context.Request.Protocol} {context.Request.Scheme} {context.Request.Path}");

    /// <summary>A hundred requests that are all answered only when all are there, over one connection.</summary>
    public static async Task AssertHundredStreamsShareOneConnectionAsync(Func<RequestDelegate, Task<RunningApplication>> start)
    {
        var connections = new ConcurrentDictionary<string, bool>();
        var gate = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        int waiting = 0;
        await using RunningApplication application = await start(async context =>
        {
            connections[context.Connection.Id.Split(':')[0]] = true;
            if (context.Request.Path != "/first")
            {
                if (Interlocked.Increment(ref waiting) == 100)
                {
                    gate.SetResult();
                }

                await gate.Task;
            }

            await EchoProtocol(context);
        });
        using HttpClient client = application.NewClient(HttpVersion.Version20);
        await client.GetStringAsync("/first");

        string[] bodies = await Task.WhenAll(Enumerable.Range(0, 100).Select(i => client.GetStringAsync($"/{i}"))).Within();

        Assert.Equal(Enumerable.Range(0, 100).Select(static i => $"HTTP/2 https /{i}"), bodies);
        Assert.Single(connections);
    }

    /// <summary>Twenty bodies of which the answer is the echo, at once.</summary>
    public static async Task AssertLargeBodiesGoBothWaysAsync(Func<RequestDelegate, Task<RunningApplication>> start)
    {
        const int BodyBytes = 1_500_001;
        await using RunningApplication application = await start(static async context =>
            await context.Request.Body.CopyToAsync(context.Response.Body));
        using HttpClient client = application.NewClient(HttpVersion.Version20);

        string[] hashes = await Task.WhenAll(Enumerable.Range(0, 20).Select(async _ =>
        {
            using var request = new HttpRequestMessage(HttpMethod.Post, "/") { Content = new PatternContent(BodyBytes, Framing.Chunked) };
            request.Version = HttpVersion.Version20;
            using HttpResponseMessage response = await client.SendAsync(request, HttpCompletionOption.ResponseHeadersRead);
            return await PatternContent.HashAsync(await response.Content.ReadAsStreamAsync());
        })).Within();

        Assert.All(hashes, static hash => Assert.Equal(PatternContent.HashOf(BodyBytes), hash));
    }
}

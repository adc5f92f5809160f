using System.Text;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.Engine;
using Millrace.HttpServer.RateLimiting;
using Millrace.Server.Admin;
using Millrace.Server.Configuration;
using Millrace.Server.Http3;
using Millrace.Server.Https;
using Millrace.Server.Metrics;
using Millrace.Server.Serving;
using Millrace.Server.Tests.Kit;
using Millrace.StaticFiles;

namespace Millrace.Server.Tests.Admin;

/// <summary>What is known of reactors of this very process.</summary>
public class AdminStateTests
{
    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    [Fact]
    public async Task A_reactor_that_a_callback_holds_is_trouble_until_it_goes_on()
    {
        using var hosted = new HostedSites(NullLoggerFactory.Instance) { RateLimiter = new RateLimiter() };
        hosted.Replace(hosted.OpenNext([new HostedSite("", new SiteOptions { Root = Places.SampleSite, Compression = false })]));
        await using ReactorGroup group = await ReactorGroup.StartAsync(new EngineOptions { Reactors = 2 });
        using var requests = new RequestMeter(group.Reactors.Count);
        using var https = new HttpsEndpoints(NullLoggerFactory.Instance);
        using var state = new AdminState();
        using var upstreams = new SiteUpstreams(new ServeOptions(), group.Reactors.Count, NullLoggerFactory.Instance);
        using var http3 = new Http3Listeners(group, new ServeOptions(), NullLoggerFactory.Instance);
        state.Attach(group, requests, hosted, upstreams, https, http3);
        using var isHeld = new ManualResetEventSlim();
        using var mayGo = new ManualResetEventSlim();
        var hasGone = new TaskCompletionSource();
        group.Reactors[1].Post(
            _ =>
            {
                isHeld.Set();
                mayGo.Wait();
            },
            null);
        Assert.True(isHeld.Wait(Deadline));

        for (int i = 0; i <= ReactorHealth.ChecksMax; i++)
        {
            Assert.Null(state.Trouble);
            state.Check();
        }

        Assert.StartsWith("reactor 1 has been stuck in one callback", state.Trouble, StringComparison.Ordinal);
        Assert.Contains("reactor 1 has been stuck in one callback", Encoding.UTF8.GetString(state.WriteStats(0)), StringComparison.Ordinal);
        mayGo.Set();
        group.Reactors[1].Post(_ => hasGone.SetResult(), null);
        await hasGone.Task.WaitAsync(Deadline);
        state.Check();
        Assert.Null(state.Trouble);
    }

    [Fact]
    public void Before_there_are_reactors_it_starts_and_is_well()
    {
        using var state = new AdminState();
        state.Check();

        Assert.Equal(Readiness.Starting, state.Readiness);
        Assert.Null(state.Trouble);
        string text = Encoding.UTF8.GetString(state.WriteStats(0));
        Assert.Contains("\"state\":\"starting\"", text, StringComparison.Ordinal);
        Assert.Contains("\"samples\":[]", text, StringComparison.Ordinal);
        Assert.Contains("dotnet_gc_collections_total", MetricsNames(state), StringComparer.Ordinal);
    }

    /// <summary>Other tests of this process have meters of the same name: only .NET's are read here.</summary>
    private static IEnumerable<string> MetricsNames(AdminState state) =>
        Encoding.UTF8.GetString(state.WriteMetrics()).Split('\n').Select(static line => line.Split(' ', '{')[0]);
}

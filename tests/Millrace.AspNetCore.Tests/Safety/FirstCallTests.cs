using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging.Abstractions;
using Millrace.AspNetCore.Safety;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.AspNetCore.Tests.Safety.Kit;
using Millrace.AspNetCore.Transport;
using Millrace.Interop.Threads;

namespace Millrace.AspNetCore.Tests.Safety;

/// <summary>An endpoint's first calls, which take long because they are compiled, and the later ones, of which that is no excuse.</summary>
public class FirstCallTests
{
    private readonly ScriptedTime _time = new();

    [Fact]
    public void The_first_call_that_takes_long_is_new_and_so_are_those_soon_after_it()
    {
        var policies = new BlockingPolicies(_time, new TransportLog(NullLogger.Instance));
        var endpoint = new Endpoint(requestDelegate: null, metadata: null, displayName: null);
        var other = new Endpoint(requestDelegate: null, metadata: null, displayName: null);
        _time.AdvanceMs(100_000);
        Assert.True(policies.BeginStall(endpoint));
        _time.AdvanceMs(BlockingPolicies.NewMs - 1);
        Assert.True(policies.BeginStall(endpoint));
        _time.AdvanceMs(1);
        Assert.False(policies.BeginStall(endpoint));
        Assert.True(policies.BeginStall(other));
        Assert.True(policies.BeginStall(null));
    }

    [Fact]
    public async Task A_first_call_that_takes_long_to_compile_is_not_warned_of_and_a_later_one_is()
    {
        await using GuardedApplication guarded = await GuardedApplication.StartAsync(
            1,
            static routes =>
            {
                for (int i = 0; i < 20; i++)
                {
                    routes.MapGet($"/compiled/{i}", Compute);
                }
            },
            services: services => services.AddSingleton(new BlockingPolicies(_time, new TransportLog(NullLogger.Instance))));
        using RawClient client = await guarded.ConnectAsync(reactor: 0);
        _time.AdvanceMs(10_000);
        int endpoints = 0;
        // A watch that gets no processor meanwhile sees none of it.
        for (; endpoints < 20 && guarded.Group.Reactors[0].Counters.Stalls == 0; endpoints++)
        {
            Assert.Equal("0", (await client.GetAsync($"/compiled/{endpoints}")).Body);
        }

        Assert.NotEqual(0, guarded.Group.Reactors[0].Counters.Stalls);
        await Waiting.UntilAsync(() => !guarded.Group.Reactors[0].IsStalled, static () => "It is still stalled.");
        Assert.False(guarded.Application.Log.Has("Stalled"));

        _time.AdvanceMs(BlockingPolicies.NewMs);
        for (int i = 0; i < 20 && !guarded.Application.Log.Has("Stalled"); i++)
        {
            Assert.Equal("0", (await client.GetAsync("/compiled/0")).Body);
        }

        LogEntry line = await guarded.Application.Log.ExpectAsync("Stalled");
        Assert.Contains("/compiled/0", line.Text, StringComparison.Ordinal);
    }

    private static Task Compute(HttpContext context)
    {
        // By its own processor time: on a busy machine the clock goes on without it.
        long began = ThreadCalls.GetUsage().RanMicroseconds;
        while (ThreadCalls.GetUsage().RanMicroseconds - began < 250_000)
        {
            Thread.SpinWait(1000);
        }

        return context.Response.WriteAsync(GuardedApplication.Where());
    }
}

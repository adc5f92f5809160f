using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Millrace.AspNetCore.Tests.Kit;
using Millrace.AspNetCore.Tests.Safety.Kit;

namespace Millrace.AspNetCore.Tests.Safety;

/// <summary>An application that blocks here and there, as nobody has prepared it, beside the sockets transport under the same load.</summary>
public class StarvationTests(ITestOutputHelper output)
{
    private const int Connections = 64;

    private const double Least = 0.5;

    [Theory]
    [InlineData("7 % sleep for 20 ms")]
    [InlineData("7 % wait for a task of 20 ms")]
    [Trait("Duration", "Full")]
    public Task An_application_whose_requests_wait_here_and_there_is_not_slower_than_half_of_sockets(string manner) =>
        CompareAsync(manner, rounds: 2, seconds: 2);

    [Theory]
    [Trait("Duration", "Long")]
    [InlineData("7 % sleep for 20 ms")]
    [InlineData("7 % wait for a task of 20 ms")]
    [InlineData("all sleep for 1 ms")]
    [InlineData("1 % sleep for 100 ms")]
    [InlineData("7 % sleep for 20 ms in middleware")]
    [InlineData("none")]
    public Task In_whatever_manner_they_wait(string manner) => CompareAsync(manner, rounds: 5, seconds: 4);

    private async Task CompareAsync(string manner, int rounds, int seconds)
    {
        Wrk.Require();
        await using RunningApplication onSockets = await StartAsync(TransportKind.Sockets, manner, isWatched: true);
        await using RunningApplication onMillrace = await StartAsync(TransportKind.Millrace, manner, isWatched: true);
        // Code is compiled meanwhile, and the transport learns.
        await Wrk.RunAsync(UrlOf(onSockets), Connections, seconds);
        await Wrk.RunAsync(UrlOf(onMillrace), Connections, seconds);
        var sockets = new List<Wrk>();
        var millrace = new List<Wrk>();
        // Each has its best round: a neighbour of the machine's cannot make it better.
        for (int i = 0; i < rounds; i++)
        {
            sockets.Add(await Wrk.RunAsync(UrlOf(onSockets), Connections, seconds));
            millrace.Add(await Wrk.RunAsync(UrlOf(onMillrace), Connections, seconds));
            output.WriteLine($"{manner}, round {i}: sockets {sockets[i]}, Millrace {millrace[i]}");
        }

        Assert.True(
            Best(millrace, Rate) >= Least * Best(sockets, Rate),
            $"Requests a second: {Best(millrace, Rate):N0}, sockets {Best(sockets, Rate):N0}.");
        Assert.True(
            Best(millrace, Swiftness) >= Least * Best(sockets, Swiftness),
            $"Median latency: {1 / Best(millrace, Swiftness):N2} ms, sockets {1 / Best(sockets, Swiftness):N2} ms.");
    }

    private static double Rate(Wrk run) => run.RequestsPerSecond;

    private static double Swiftness(Wrk run) => 1 / run.MedianMs;

    private static double Best(List<Wrk> runs, Func<Wrk, double> of) => runs.Max(of);

    private static Uri UrlOf(RunningApplication application) => new(application.Url, "/task");

    private static Task<RunningApplication> StartAsync(TransportKind transport, string manner, bool isWatched) => RunningApplication.StartAsync(
        transport,
        static _ => Task.CompletedTask,
        host: host => host.ConfigureServices(services =>
        {
            services.AddRouting();
            services.Configure<MillraceTransportOptions>(options => options.WatchForStalls = isWatched);
        }),
        routes: routes =>
        {
            int count = 0;
            if (manner.EndsWith("in middleware", StringComparison.Ordinal))
            {
                routes.Use(next => context =>
                {
                    WaitNowAndThen(manner, Interlocked.Increment(ref count));
                    return next(context);
                });
                routes.MapGet("/task", static context => context.Response.WriteAsync("done"));
            }
            else
            {
                routes.MapGet("/task", context =>
                {
                    WaitNowAndThen(manner, Interlocked.Increment(ref count));
                    return context.Response.WriteAsync("done");
                });
            }
        });

    private static void WaitNowAndThen(string manner, int count)
    {
        switch (manner)
        {
            case "7 % wait for a task of 20 ms" when count % 100 < 7:
                Task.Delay(20).Wait();
                break;
            case "7 % sleep for 20 ms" or "7 % sleep for 20 ms in middleware" when count % 100 < 7:
                Thread.Sleep(20);
                break;
            case "1 % sleep for 100 ms" when count % 100 == 0:
                Thread.Sleep(100);
                break;
            case "all sleep for 1 ms":
                Thread.Sleep(1);
                break;
            default:
                break;
        }
    }
}

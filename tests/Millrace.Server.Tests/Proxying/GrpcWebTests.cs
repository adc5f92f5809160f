using System.Text;
using Grpc.Core;
using Grpc.Net.Client;
using Grpc.Net.Client.Web;
using Millrace.Server.Tests.Kit;
using Millrace.Server.Tests.Proxying.Kit;

namespace Millrace.Server.Tests.Proxying;

/// <summary>gRPC-web, whose trailers are in the body, between .NET's client and an application of ASP.NET Core.</summary>
public class GrpcWebTests
{
    private static readonly Marshaller<string> Texts = Marshallers.Create(Encoding.UTF8.GetBytes, Encoding.UTF8.GetString);
    private static readonly Method<string, string> Grind = new(MethodType.Unary, "mill.Mill", "Grind", Texts, Texts);
    private static readonly Method<string, string> Turn = new(MethodType.ServerStreaming, "mill.Mill", "Turn", Texts, Texts);

    [Theory]
    [InlineData("1.1", GrpcWebMode.GrpcWeb)]
    [InlineData("1.1", GrpcWebMode.GrpcWebText)]
    [InlineData("2.0", GrpcWebMode.GrpcWeb)]
    [InlineData("2.0", GrpcWebMode.GrpcWebText)]
    public async Task Calls_streams_and_failures_pass(string version, GrpcWebMode mode)
    {
        await using ServerProcess upstream = await Upstreams.StartKestrelAsync();
        await using ProxiedSite site = await ProxiedSite.StartAsync(
            ProxiedSite.Upstream(upstream), "--proxy", $"/mill.Mill/* {ProxiedSite.Upstream(upstream)}");
        using GrpcChannel channel = GrpcChannel.ForAddress(site.Url, new GrpcChannelOptions
        {
            HttpHandler = new GrpcWebHandler(mode, new SocketsHttpHandler()),
            HttpVersion = Version.Parse(version),
            HttpVersionPolicy = HttpVersionPolicy.RequestVersionExact,
        });
        CallInvoker invoker = channel.CreateCallInvoker();
        var options = new CallOptions(cancellationToken: TestContext.Current.CancellationToken);
        for (int i = 0; i < 5; i++)
        {
            Assert.Equal($"ground grain {i}", await invoker.AsyncUnaryCall(Grind, null, options, $"grain {i}"));
        }

        var turns = new List<string>();
        using AsyncServerStreamingCall<string> turning = invoker.AsyncServerStreamingCall(Turn, null, options, "200");
        await foreach (string turn in turning.ResponseStream.ReadAllAsync(TestContext.Current.CancellationToken))
        {
            turns.Add(turn);
        }

        Assert.Equal(Enumerable.Range(1, 200).Select(static i => $"turn {i}"), turns);
        RpcException failure = await Assert.ThrowsAsync<RpcException>(async () => await invoker.AsyncUnaryCall(Grind, null, options, "stone"));
        Assert.Equal((StatusCode.InvalidArgument, "Stones are not ground."), (failure.StatusCode, failure.Status.Detail));
    }
}

using System.Text;
using Grpc.Core;

namespace Millrace.ProxiedApplication;

/// <summary>
/// A gRPC service of texts, bound by hand, so that no compiler of protocols is needed. ASP.NET Core finds its virtual methods by their names.
/// </summary>
[BindServiceMethod(typeof(MillService), nameof(Bind))]
public class MillService
{
    private static readonly Marshaller<string> Texts = Marshallers.Create(Encoding.UTF8.GetBytes, Encoding.UTF8.GetString);

    private static readonly Method<string, string> Unary = new(MethodType.Unary, "mill.Mill", nameof(Grind), Texts, Texts);
    private static readonly Method<string, string> Streaming = new(MethodType.ServerStreaming, "mill.Mill", nameof(Turn), Texts, Texts);

    /// <summary>Called by ASP.NET Core, with null, to learn the methods.</summary>
    public static void Bind(ServiceBinderBase binder, MillService? service)
    {
        ArgumentNullException.ThrowIfNull(binder);
        binder.AddMethod(Unary, service is null ? null : new UnaryServerMethod<string, string>(service.Grind));
        binder.AddMethod(Streaming, service is null ? null : new ServerStreamingServerMethod<string, string>(service.Turn));
    }

    /// <summary>Fails for "stone", with a status in the trailers.</summary>
    public virtual Task<string> Grind(string request, ServerCallContext context) => request == "stone"
        ? throw new RpcException(new Status(StatusCode.InvalidArgument, "Stones are not ground."))
        : Task.FromResult($"ground {request}");

    public virtual async Task Turn(string request, IServerStreamWriter<string> responses, ServerCallContext context)
    {
        ArgumentNullException.ThrowIfNull(responses);
        for (int turn = 1; turn <= int.Parse(request); turn++)
        {
            await responses.WriteAsync($"turn {turn}");
        }
    }
}

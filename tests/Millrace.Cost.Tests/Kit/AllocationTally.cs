using System.Globalization;
using System.Net.Sockets;
using System.Text;
using Millrace.Server.Tests.Kit;

namespace Millrace.Cost.Tests.Kit;

/// <summary>Bytes that all threads of a server have allocated, as <see cref="StartupHook"/> tells them: of the ordinary build, for hooks need a runtime that loads them.</summary>
internal sealed class AllocationTally(string folder)
{
    private readonly string _socket = Path.Combine(folder, "tally");

    public async Task<ServerProcess> StartAsync(params string[] arguments)
    {
        await Publication.OrdinaryReadyAsync();
        return await ServerProcess.StartAsync(
            "env",
            [$"DOTNET_STARTUP_HOOKS={typeof(StartupHook).Assembly.Location}", $"{StartupHook.Variable}={_socket}", Publication.Ordinary, .. arguments],
            "Serving ");
    }

    public long Read()
    {
        using var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified) { ReceiveTimeout = 60_000 };
        socket.Connect(new UnixDomainSocketEndPoint(_socket));
        Span<byte> digits = stackalloc byte[20];
        int count = 0, received;
        while ((received = socket.Receive(digits[count..])) > 0)
        {
            count += received;
        }

        return long.Parse(Encoding.ASCII.GetString(digits[..count]), CultureInfo.InvariantCulture);
    }
}

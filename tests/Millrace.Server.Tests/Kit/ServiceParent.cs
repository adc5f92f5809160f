using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;

namespace Millrace.Server.Tests.Kit;

/// <summary>
/// Plays systemd: has bound sockets, starts the published server with them as descriptors from 3 on, one process after the other, and
/// listens to what they say of themselves.
/// </summary>
internal sealed partial class ServiceParent : IDisposable
{
    private readonly List<(string Name, Socket Socket, int Inheritable)> _sockets = [];
    private readonly TempFolder _folder = new();
    private readonly Socket _notices = new(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified);

    /// <param name="isAbstract">Whether the socket for notices has a name of the kernel's in place of a file.</param>
    public ServiceParent(bool isAbstract = false)
    {
        string path = _folder.PathOf("notify");
        _notices.Bind(new UnixDomainSocketEndPoint(isAbstract ? $"\0{path}" : path));
        NoticeAddress = isAbstract ? $"@{path}" : path;
    }

    /// <summary>As NOTIFY_SOCKET has it.</summary>
    public string NoticeAddress { get; }

    /// <summary>Variables that the server is started with, besides those of its sockets and of the parent's.</summary>
    public Dictionary<string, string> Variables { get; } = [];

    public EndPoint Listen(string name, EndPoint address)
    {
        var socket = new Socket(address.AddressFamily, SocketType.Stream, ProtocolType.Unspecified);
        socket.Bind(address);
        socket.Listen();

        // A copy that is not closed on exec, unlike all that .NET opens.
        int inheritable = Duplicate((int)socket.Handle);
        Assert.True(inheritable > 2);
        _sockets.Add((name, socket, inheritable));
        return socket.LocalEndPoint!;
    }

    /// <summary>A socket for datagrams, in place of one that listens.</summary>
    public void BindDatagrams(string name, IPEndPoint address)
    {
        var socket = new Socket(address.AddressFamily, SocketType.Dgram, ProtocolType.Udp);
        socket.Bind(address);
        int inheritable = Duplicate((int)socket.Handle);
        Assert.True(inheritable > 2);
        _sockets.Add((name, socket, inheritable));
    }

    /// <summary>Starts a server and waits until it says on stdout that it serves.</summary>
    public Task<ServerProcess> StartAsync(params string[] arguments) =>
        Launch([.. arguments, .. Publication.BackendFlags]).WhenReadyAsync();

    /// <summary>The shell becomes the server: LISTEN_PID is its own number.</summary>
    public ServerProcess Launch(params string[] arguments)
    {
        // Two steps, so that no descriptor is overwritten that is still to be moved.
        IEnumerable<string> up = _sockets.Select(static (socket, i) => $"exec {100 + i}<&{socket.Inheritable} {socket.Inheritable}<&-");
        IEnumerable<string> down = _sockets.Select(static (_, i) => $"exec {3 + i}<&{100 + i} {100 + i}<&-");
        string names = string.Join(':', _sockets.Select(static socket => socket.Name));
        string[] variables =
        [
            .. _sockets.Count > 0 ? (string[])["LISTEN_PID=$$", $"LISTEN_FDS={_sockets.Count}", $"LISTEN_FDNAMES={names}"] : [],
            .. Variables.Select(static variable => $"{variable.Key}={variable.Value}"),
        ];
        string exports = string.Join('\n', variables.Select(static variable => $"export {variable}"));
        string script = string.Join('\n', [.. up, .. down, exports, "exec \"$@\""]);
        return ServerProcess.Launch("bash", ["-c", script, "bash", Publication.Program, .. arguments]);
    }

    /// <summary>The next datagram of a server.</summary>
    public async Task<string> NoticeAsync()
    {
        byte[] bytes = new byte[4096];
        int count = await _notices.ReceiveAsync(bytes).WaitAsync(TimeSpan.FromSeconds(60));
        return System.Text.Encoding.UTF8.GetString(bytes, 0, count);
    }

    /// <summary>The next one that is no sign of life.</summary>
    public async Task<string> NewsAsync()
    {
        string notice;
        do
        {
            notice = await NoticeAsync();
        }
        while (notice == "WATCHDOG=1");
        return notice;
    }

    public void Dispose()
    {
        foreach ((_, Socket socket, int inheritable) in _sockets)
        {
            socket.Dispose();
            _ = Close(inheritable);
        }

        _notices.Dispose();
        _folder.Dispose();
    }

    [LibraryImport("libc", EntryPoint = "dup")]
    private static partial int Duplicate(int descriptor);

    [LibraryImport("libc", EntryPoint = "close")]
    private static partial int Close(int descriptor);
}

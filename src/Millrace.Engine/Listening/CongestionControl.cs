using System.Text;
using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Listening;

/// <summary>
/// TCP congestion controls by name. The kernel's list is not checked beforehand: the kernel loads some when a process with CAP_NET_ADMIN
/// names them. Any thread.
/// </summary>
internal static class CongestionControl
{
    public const string NameForm = "A congestion control has a name of 1 to 15 letters, digits, dashes and underscores, such as bbr.";

    /// <summary><c>TCP_CA_NAME_MAX</c> without its zero byte: the kernel truncates longer names and may so find another one.</summary>
    private const int NameLengthMax = 15;

    private const string Settings = "/proc/sys/net/ipv4/";

    public static bool IsName(string text) => text.Length is > 0 and <= NameLengthMax
        && text.All(static letter => char.IsAsciiLetterOrDigit(letter) || letter is '-' or '_');

    /// <summary>Sets it on a socket; connections accepted there inherit it.</summary>
    /// <exception cref="EngineException">The kernel refuses; the message names cause and remedy.</exception>
    public static void Require(int socket, string name)
    {
        int result = Set(socket, name);
        if (result < 0)
        {
            throw new EngineException(Describe(-result, name)) { ErrorNumber = -result };
        }
    }

    /// <summary>Tries it on a temporary socket: why this process cannot use it, or null.</summary>
    public static string? RefusalOf(string name)
    {
        int socket = SocketCalls.Socket(AddressFamilyNumber.InterNetwork, SocketTypeNumber.Stream);
        if (socket < 0)
        {
            // Without IPv4 there may still be IPv6; the listener then reports a refusal.
            return null;
        }

        int result = Set(socket, name);
        _ = SocketCalls.Close(socket);
        return result < 0 ? Describe(-result, name) : null;
    }

    /// <summary>A refusal as cause and remedy.</summary>
    public static string Describe(int errno, string name, string? available, string? allowed) => errno switch
    {
        Errno.ENOENT => $"The congestion control '{name}' is not in this kernel{WithList("which has", available)}: "
            + $"use one that is, or load its module ('modprobe tcp_{name}').",
        Errno.EPERM => $"The congestion control '{name}' may not be used by this process{WithList("which may use", allowed)}: "
            + "add it to net.ipv4.tcp_allowed_congestion_control, or start with CAP_NET_ADMIN.",
        _ => $"The congestion control '{name}' cannot be set ({Errno.Describe(errno)}): name another one, or none.",
    };

    private static int Set(int socket, string name)
    {
        Span<byte> bytes = stackalloc byte[NameLengthMax];
        int count = Encoding.ASCII.GetBytes(name, bytes);
        return SocketCalls.SetOption(socket, SocketOptionNumber.LevelTcp, SocketOptionNumber.CongestionControl, bytes[..count]);
    }

    private static string Describe(int errno, string name) =>
        Describe(
            errno,
            name,
            KernelFile.TryRead(Settings + "tcp_available_congestion_control"),
            KernelFile.TryRead(Settings + "tcp_allowed_congestion_control"));

    private static string WithList(string verb, string? names) =>
        string.IsNullOrEmpty(names) ? "" : $", {verb} {names.Replace(" ", ", ", StringComparison.Ordinal)}";
}

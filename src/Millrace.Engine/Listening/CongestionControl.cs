using System.Text;
using Millrace.Interop;
using Millrace.Interop.Files;
using Millrace.Interop.Sockets;

namespace Millrace.Engine.Listening;

/// <summary>
/// Congestion controls by their names. Which ones the kernel has is not read beforehand: it loads some when a process that may
/// (CAP_NET_ADMIN) names them. Any thread.
/// </summary>
internal static class CongestionControl
{
    /// <summary>What is wrong with a text that is no name.</summary>
    public const string NameForm = "A congestion control has a name of 1 to 15 letters, digits, dashes and underscores: bbr, say.";

    /// <summary><c>TCP_CA_NAME_MAX</c> without its zero byte: the kernel cuts what is longer, and may find another one by that.</summary>
    private const int NameLengthMax = 15;

    private const string Settings = "/proc/sys/net/ipv4/";

    public static bool IsName(string text) => text.Length is > 0 and <= NameLengthMax
        && text.All(static letter => char.IsAsciiLetterOrDigit(letter) || letter is '-' or '_');

    /// <summary>Gives a socket this one; connections that are accepted there have it too.</summary>
    /// <exception cref="EngineException">The kernel refuses; the message names cause and remedy.</exception>
    public static void Require(int socket, string name)
    {
        int result = Set(socket, name);
        if (result < 0)
        {
            throw new EngineException(Describe(-result, name)) { ErrorNumber = -result };
        }
    }

    /// <summary>
    /// Gives it to a socket that may go on with what it has: a route's own (<c>ip route ... congctl</c>) cannot be replaced. 0, or -errno.
    /// </summary>
    public static int Offer(int socket, string name) => Set(socket, name);

    /// <summary>Whether no process needs a right to use it.</summary>
    public static bool IsAnybodys(string name) =>
        KernelFile.TryRead(Settings + "tcp_allowed_congestion_control")?.Split(' ').Contains(name, StringComparer.Ordinal) == true;

    /// <summary>What a socket has; null where that cannot be told.</summary>
    public static string? Of(int socket)
    {
        Span<byte> name = stackalloc byte[NameLengthMax + 1];
        int bytes = SocketCalls.GetOption(socket, SocketOptionNumber.LevelTcp, SocketOptionNumber.CongestionControl, name);
        return bytes <= 0 ? null : Encoding.ASCII.GetString(name[..bytes].TrimEnd((byte)0));
    }

    /// <summary>Why this process could not have it, tried on a socket of its own; null where it could.</summary>
    public static string? RefusalOf(string name)
    {
        int socket = SocketCalls.Socket(AddressFamilyNumber.InterNetwork, SocketTypeNumber.Stream);
        if (socket < 0)
        {
            // Without IPv4 there may still be IPv6, and whoever listens there is told.
            return null;
        }

        int result = Set(socket, name);
        _ = SocketCalls.Close(socket);
        return result < 0 ? Describe(-result, name) : null;
    }

    /// <summary>A refusal as cause and remedy.</summary>
    /// <param name="errno">What the kernel said.</param>
    /// <param name="name">Of what.</param>
    /// <param name="available">What the kernel has; null where it does not tell.</param>
    /// <param name="allowed">What of that anybody may use.</param>
    public static string Describe(int errno, string name, string? available, string? allowed) => errno switch
    {
        Errno.ENOENT => $"The congestion control '{name}' is not in this kernel{Having("which has", available)}: "
            + $"name one that is, or have its module loaded ('modprobe tcp_{name}').",
        Errno.EPERM => $"The congestion control '{name}' may not be used by this process{Having("which may use", allowed)}: "
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

    private static string Having(string verb, string? names) =>
        string.IsNullOrEmpty(names) ? "" : $", {verb} {names.Replace(" ", ", ", StringComparison.Ordinal)}";
}

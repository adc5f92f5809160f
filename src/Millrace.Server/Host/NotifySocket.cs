using System.Diagnostics;
using System.Globalization;
using System.Net.Sockets;
using System.Text;
using Microsoft.Extensions.Logging;

namespace Millrace.Server.Host;

/// <summary>
/// Notifies a service manager of the process's state (sd_notify(3)), with one datagram each. Without a manager it does nothing; a failed
/// notification does not affect serving. Any thread.
/// </summary>
internal sealed partial class NotifySocket : IDisposable
{
    private const string PathVariable = "NOTIFY_SOCKET";
    private const string WatchdogVariable = "WATCHDOG_USEC";
    private const string WatchdogPidVariable = "WATCHDOG_PID";

    private readonly Socket? _socket;
    private readonly UnixDomainSocketEndPoint? _manager;
    private readonly ILogger _log;
    private int _failures;

    private NotifySocket(string? path, TimeSpan? watchdog, ILogger log)
    {
        _log = log;
        WatchdogPeriod = watchdog;
        if (path is ['/' or '@', _, ..])
        {
            // '@' stands for the leading zero byte of an abstract socket's name.
            _manager = new UnixDomainSocketEndPoint(path[0] == '@' ? $"\0{path[1..]}" : path);
            _socket = new Socket(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified) { Blocking = false };
        }
    }

    /// <summary>The watchdog period of the manager; null for none.</summary>
    public TimeSpan? WatchdogPeriod { get; }

    /// <summary>Opens the socket that the environment names, and removes the variables so that child processes do not use it.</summary>
    public static NotifySocket Open(ILogger log)
    {
        string? path = Environment.GetEnvironmentVariable(PathVariable);
        TimeSpan? watchdog = ReadWatchdog(Environment.GetEnvironmentVariable, Environment.ProcessId);
        foreach (string variable in (string[])[PathVariable, WatchdogVariable, WatchdogPidVariable])
        {
            Environment.SetEnvironmentVariable(variable, null);
        }

        return new NotifySocket(path, watchdog, log);
    }

    /// <summary>The watchdog period that the variables set for this process.</summary>
    public static TimeSpan? ReadWatchdog(Func<string, string?> variable, int processId)
    {
        bool isOurs = variable(WatchdogPidVariable) is not { Length: > 0 } pid
            || pid == processId.ToString(CultureInfo.InvariantCulture);
        return isOurs && long.TryParse(variable(WatchdogVariable), NumberStyles.None, CultureInfo.InvariantCulture, out long microseconds)
            && microseconds is > 0 and <= long.MaxValue / TimeSpan.TicksPerMicrosecond
            ? TimeSpan.FromMicroseconds(microseconds)
            : null;
    }

    /// <summary>Ready, after the start or after a reload.</summary>
    public void Ready(string status) => Send($"READY=1\nSTATUS={status}");

    /// <summary>Reloading, while serving continues; <see cref="Ready"/> ends it.</summary>
    public void Reloading() => Send(string.Create(
        CultureInfo.InvariantCulture, $"RELOADING=1\nMONOTONIC_USEC={MonotonicMicroseconds}\nSTATUS=Reloading"));

    public void Stopping() => Send("STOPPING=1\nSTATUS=Draining in-flight requests");

    public void Alive() => Send("WATCHDOG=1");

    public void Dispose() => _socket?.Dispose();

    /// <summary>CLOCK_MONOTONIC, the source of the runtime's timestamps on Linux.</summary>
    private static long MonotonicMicroseconds => (long)Stopwatch.GetElapsedTime(0).TotalMicroseconds;

    private void Send(string state)
    {
        try
        {
            _socket?.SendTo(Encoding.UTF8.GetBytes(state), _manager!);
        }
        catch (SocketException refusal)
        {
            // Logged once, as a sign of life is sent every few seconds.
            if (Interlocked.Increment(ref _failures) == 1)
            {
                NotifyFailed(_manager!, refusal.Message);
            }
        }
    }

    [LoggerMessage(23, LogLevel.Warning, "Notifying the service manager at {Manager} failed: {Reason}.")]
    private partial void NotifyFailed(object manager, string reason);
}

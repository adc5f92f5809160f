using System.Diagnostics;
using System.Globalization;
using System.Net.Sockets;
using System.Text;
using Microsoft.Extensions.Logging;

namespace Millrace.Server.Service;

/// <summary>
/// Tells a service manager how the process is (sd_notify(3)), by one datagram each. Without a manager nothing is told, and one that does
/// not listen is no reason to serve less. Any thread.
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
            // An abstract one is written with '@' for the zero byte that its name begins with.
            _manager = new UnixDomainSocketEndPoint(path[0] == '@' ? $"\0{path[1..]}" : path);
            _socket = new Socket(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified) { Blocking = false };
        }
    }

    /// <summary>Within which the manager wants a sign of life; null: it does not.</summary>
    public TimeSpan? WatchdogPeriod { get; }

    /// <summary>The manager that the environment names, which no process that this one starts is to talk to.</summary>
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

    /// <summary>The period that the variables tell this process.</summary>
    public static TimeSpan? ReadWatchdog(Func<string, string?> variable, int processId)
    {
        bool isOurs = variable(WatchdogPidVariable) is not { Length: > 0 } pid
            || pid == processId.ToString(CultureInfo.InvariantCulture);
        return isOurs && long.TryParse(variable(WatchdogVariable), NumberStyles.None, CultureInfo.InvariantCulture, out long microseconds)
            && microseconds is > 0 and <= long.MaxValue / TimeSpan.TicksPerMicrosecond
            ? TimeSpan.FromMicroseconds(microseconds)
            : null;
    }

    /// <summary>It serves, for the first time or again.</summary>
    public void Ready(string status) => Send($"READY=1\nSTATUS={status}");

    /// <summary>It reads everything anew, and serves on meanwhile; <see cref="Ready"/> is the end of it.</summary>
    public void Reloading() => Send(string.Create(
        CultureInfo.InvariantCulture, $"RELOADING=1\nMONOTONIC_USEC={MonotonicMicroseconds}\nSTATUS=Reading everything anew"));

    public void Stopping() => Send("STOPPING=1\nSTATUS=Finishing what is under way");

    /// <summary>The sign of life.</summary>
    public void Alive() => Send("WATCHDOG=1");

    public void Dispose() => _socket?.Dispose();

    /// <summary>CLOCK_MONOTONIC, which the runtime's timestamps are of on Linux.</summary>
    private static long MonotonicMicroseconds => (long)Stopwatch.GetElapsedTime(0).TotalMicroseconds;

    private void Send(string state)
    {
        try
        {
            _socket?.SendTo(Encoding.UTF8.GetBytes(state), _manager!);
        }
        catch (SocketException refusal)
        {
            // Once: a sign of life comes every few seconds.
            if (Interlocked.Increment(ref _failures) == 1)
            {
                Untold(_manager!, refusal.Message);
            }
        }
    }

    [LoggerMessage(Level = LogLevel.Warning, Message = "The service manager at {Manager} is not told how this process is: {Reason}.")]
    private partial void Untold(object manager, string reason);
}

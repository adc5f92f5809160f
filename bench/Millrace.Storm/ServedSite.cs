using System.ComponentModel;
using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Text.RegularExpressions;

namespace Millrace.Storm;

/// <summary>The server in a process of its own, from a command line with {root} and {port}. It ends with this object.</summary>
internal sealed partial class ServedSite : IDisposable
{
    private const int TerminateSignal = 15;

    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(30);

    private readonly Process _process;

    public ServedSite(string command, string root)
    {
        Port = FreePort();
        string[] words = [.. Word().Matches(command).Select(word => word.Value.Trim('"')
            .Replace("{root}", root, StringComparison.Ordinal)
            .Replace("{port}", $"{Port}", StringComparison.Ordinal))];
        // What it says goes where we say things.
        _process = Process.Start(new ProcessStartInfo(words[0], words[1..]))!;
        try
        {
            AwaitListener();
        }
        catch
        {
            Dispose();
            throw;
        }
    }

    public int Port { get; }

    public int ProcessId => _process.Id;

    public bool HasEnded => _process.HasExited;

    public int Descriptors => Directory.GetFiles($"/proc/{_process.Id}/fd").Length;

    public double ResidentMb
    {
        get
        {
            string line = File.ReadLines($"/proc/{_process.Id}/status").Single(static line => line.StartsWith("VmRSS:", StringComparison.Ordinal));
            return int.Parse(line.Split(' ', StringSplitOptions.RemoveEmptyEntries)[1], CultureInfo.InvariantCulture) / 1024.0;
        }
    }

    public void Dispose()
    {
        if (!_process.HasExited)
        {
            _ = Kill(_process.Id, TerminateSignal);
            if (!_process.WaitForExit(Patience))
            {
                Console.WriteLine($"the server did not end within {Patience.TotalSeconds} s of SIGTERM");
                _process.Kill(entireProcessTree: true);
                _process.WaitForExit();
            }
        }

        _process.Dispose();
    }

    private void AwaitListener()
    {
        long startedAt = Stopwatch.GetTimestamp();
        while (!IsListening())
        {
            if (_process.HasExited || Stopwatch.GetElapsedTime(startedAt) > Patience)
            {
                throw new Win32Exception("The server does not listen.");
            }

            Thread.Sleep(20);
        }
    }

    private bool IsListening()
    {
        try
        {
            using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            socket.Connect(IPAddress.Loopback, Port);
            return true;
        }
        catch (SocketException error) when (error.SocketErrorCode == SocketError.ConnectionRefused)
        {
            return false;
        }
    }

    private static int FreePort()
    {
        using var probe = new TcpListener(IPAddress.Loopback, 0);
        probe.Start();
        return ((IPEndPoint)probe.LocalEndpoint).Port;
    }

    /// <summary>Quotes keep a path with spaces together.</summary>
    [GeneratedRegex("\"[^\"]*\"|\\S+")]
    private static partial Regex Word();

    [LibraryImport("libc", EntryPoint = "kill")]
    private static partial int Kill(int process, int signal);
}

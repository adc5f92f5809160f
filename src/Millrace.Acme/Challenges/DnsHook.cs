using System.ComponentModel;
using System.Diagnostics;
using Millrace.Acme.Protocol;

namespace Millrace.Acme.Challenges;

/// <summary>
/// The operator's program that creates and removes TXT records. It has five minutes; then, and when the server ends, it is killed with its
/// children. One at a time: such programs edit files or zones that are not made for several. Any thread.
/// </summary>
internal sealed class DnsHook(string program, TimeProvider clock) : IDisposable
{
    private static readonly TimeSpan TimeMax = TimeSpan.FromMinutes(5);

    /// <summary>For the last output of a program that left children behind.</summary>
    private static readonly TimeSpan OutputTimeMax = TimeSpan.FromSeconds(2);
    private readonly SemaphoreSlim _turn = new(1);

    public static string RecordName(string host) => "_acme-challenge." + host;

    /// <param name="action"><c>present</c> or <c>cleanup</c>.</param>
    /// <param name="host">The host that is proved.</param>
    /// <param name="value">The value of the record.</param>
    /// <param name="cancel">Kills the program.</param>
    /// <exception cref="AcmeException">The program does not start, takes too long or fails.</exception>
    public async Task RunAsync(string action, string host, string value, CancellationToken cancel)
    {
        await _turn.WaitAsync(cancel);
        try
        {
            await RunAloneAsync(action, host, value, cancel);
        }
        finally
        {
            _turn.Release();
        }
    }

    public void Dispose() => _turn.Dispose();

    private async Task RunAloneAsync(string action, string host, string value, CancellationToken cancel)
    {
        string[] arguments = [action, host, RecordName(host), value];
        using var timeout = new CancellationTokenSource(TimeMax, clock);
        using Process process = Start(arguments);
        using var either = CancellationTokenSource.CreateLinkedTokenSource(timeout.Token, cancel);
        Task<string> lastLine = LastLineAsync(process.StandardError);
        Task output = LastLineAsync(process.StandardOutput);
        try
        {
            await process.WaitForExitAsync(either.Token);
        }
        catch (OperationCanceledException)
        {
            Kill(process);
            cancel.ThrowIfCancellationRequested();
            throw new AcmeException(
                $"The DNS hook '{program} {action} {host}' did not end within {TimeMax.TotalMinutes} minutes and was killed.");
        }

        await Task.WhenAny(Task.WhenAll(lastLine, output), Task.Delay(OutputTimeMax, clock, cancel));
        if (process.ExitCode != 0)
        {
            string said = lastLine.IsCompletedSuccessfully && lastLine.Result.Length > 0
                ? $": {AcmeText.Clean(lastLine.Result)}"
                : " and said nothing";
            throw new AcmeException($"The DNS hook '{program} {action} {host}' exited with {process.ExitCode}{said}");
        }
    }

    private Process Start(string[] arguments)
    {
        var start = new ProcessStartInfo(program, arguments)
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        try
        {
            Process process = Process.Start(start)!;
            process.StandardInput.Close();
            return process;
        }
        catch (Win32Exception e)
        {
            throw new AcmeException($"The DNS hook '{program}' does not start: {e.Message}", e);
        }
    }

    private static void Kill(Process process)
    {
        try
        {
            process.Kill(entireProcessTree: true);
        }
        catch (Exception e) when (e is InvalidOperationException or AggregateException or Win32Exception)
        {
            // It, or one of its children, has ended by itself.
        }
    }

    /// <summary>Reads to the end, so that the program never waits for its reader.</summary>
    private static async Task<string> LastLineAsync(StreamReader reader)
    {
        const int LineMax = 500;
        string last = string.Empty;
        try
        {
            while (await reader.ReadLineAsync() is { } line)
            {
                last = string.IsNullOrWhiteSpace(line) ? last : line.Trim();
            }
        }
        catch (Exception e) when (e is IOException or ObjectDisposedException)
        {
            // It was killed.
        }

        return last.Length > LineMax ? last[..LineMax] : last;
    }
}

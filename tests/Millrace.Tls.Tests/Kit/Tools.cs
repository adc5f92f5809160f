using System.Diagnostics;
using System.Net;
using System.Threading.Channels;
using Millrace.Engine;
using Millrace.Engine.Tests.Kit;

namespace Millrace.Tls.Tests.Kit;

/// <summary>Other people's clients, run to their end.</summary>
internal static class Tools
{
    /// <summary>Skips the test where a program is missing.</summary>
    public static void Require(string name) => Assert.SkipUnless(
        Environment.GetEnvironmentVariable("PATH")!.Split(':').Any(folder => File.Exists(Path.Combine(folder, name))),
        $"{name} is not installed.");

    /// <summary>Asks with <c>openssl s_client</c>; its output and its errors come as one text.</summary>
    public static Task<string> AskAsync(Listener listener, string input, params string[] arguments)
    {
        Require("openssl");
        string[] all = ["s_client", "-connect", $"127.0.0.1:{PortOf(listener)}", "-ign_eof", .. arguments];
        return RunAsync("openssl", input, all);
    }

    /// <summary>Types lines into <c>openssl s_client</c>, each when it has answered the one before with a line that begins so.</summary>
    public static async Task ConverseAsync(Listener listener, params (string Line, string Response)[] talk)
    {
        Require("openssl");
        string[] arguments = ["s_client", "-connect", $"127.0.0.1:{PortOf(listener)}"];
        using Process process = Process.Start(new ProcessStartInfo("openssl", arguments)
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        })!;
        try
        {
            // It reports commands on its other output.
            var said = Channel.CreateUnbounded<string>();
            void Take(object sender, DataReceivedEventArgs line) =>
                _ = line.Data is { } text ? said.Writer.TryWrite(text) : said.Writer.TryComplete();

            process.OutputDataReceived += Take;
            process.ErrorDataReceived += Take;
            process.BeginOutputReadLine();
            process.BeginErrorReadLine();
            await HearAsync("SSL handshake has read");
            foreach ((string line, string response) in talk)
            {
                // It takes a command only where a line comes alone.
                await process.StandardInput.WriteAsync(line);
                await HearAsync(response);
            }

            process.StandardInput.Close();
            await process.WaitForExitAsync().Within();

            async Task HearAsync(string beginning)
            {
                while (!(await said.Reader.ReadAsync().AsTask().Within()).StartsWith(beginning, StringComparison.Ordinal))
                {
                }
            }
        }
        finally
        {
            process.Kill(entireProcessTree: true);
        }
    }

    public static Task<string> RunAsync(string name, string input, params string[] arguments) =>
        RunAsync(EngineTest.Patience, name, input, arguments);

    public static async Task<string> RunAsync(TimeSpan deadline, string name, string input, params string[] arguments)
    {
        Require(name);
        using Process process = Process.Start(new ProcessStartInfo(name, arguments)
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        })!;
        Task<string> output = process.StandardOutput.ReadToEndAsync();
        Task<string> error = process.StandardError.ReadToEndAsync();
        try
        {
            await ReportAsync(process, input);
            await Task.WhenAll(output, error, process.WaitForExitAsync()).WaitAsync(deadline);
        }
        catch (TimeoutException)
        {
            process.Kill(entireProcessTree: true);
            throw;
        }

        return await output + await error;
    }

    private static int PortOf(Listener listener) => ((IPEndPoint)listener.EndPoint).Port;

    /// <summary>Writes all of its input. A process that has ended needs no more.</summary>
    private static async Task ReportAsync(Process process, string input)
    {
        try
        {
            await process.StandardInput.WriteAsync(input);
            process.StandardInput.Close();
        }
        catch (IOException)
        {
            // It has ended, or has closed its input.
        }
    }
}

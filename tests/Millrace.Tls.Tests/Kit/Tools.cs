using System.Diagnostics;
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

    /// <summary>Asks with <c>openssl s_client</c>; what it says and what it was told come as one text.</summary>
    public static Task<string> AskAsync(Listener listener, string input, params string[] arguments)
    {
        Require("openssl");
        string[] all = ["s_client", "-connect", $"127.0.0.1:{TlsTest.PortOf(listener)}", "-ign_eof", .. arguments];
        return RunAsync("openssl", input, all);
    }

    /// <summary>Types lines into <c>openssl s_client</c>, one after the other, until it has said what is waited for.</summary>
    public static async Task<string> ConverseAsync(Listener listener, string[] lines, string last)
    {
        Require("openssl");
        string[] arguments = ["s_client", "-connect", $"127.0.0.1:{TlsTest.PortOf(listener)}"];
        using Process process = Process.Start(new ProcessStartInfo("openssl", arguments)
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        })!;
        try
        {
            Task<string> error = process.StandardError.ReadToEndAsync();
            foreach (string line in lines)
            {
                await process.StandardInput.WriteAsync(line);
                await process.StandardInput.FlushAsync();

                // It takes a command only where a line comes alone.
                await Task.Delay(300);
            }

            var seen = new List<string>();
            while (await process.StandardOutput.ReadLineAsync().Within() is { } said)
            {
                seen.Add(said);
                if (said == last)
                {
                    break;
                }
            }

            process.StandardInput.Close();
            await process.WaitForExitAsync().Within();
            return string.Join('\n', seen) + await error;
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
            await process.StandardInput.WriteAsync(input);
            process.StandardInput.Close();
            await Task.WhenAll(output, error, process.WaitForExitAsync()).WaitAsync(deadline);
        }
        catch (TimeoutException)
        {
            process.Kill(entireProcessTree: true);
            throw;
        }

        return await output + await error;
    }
}

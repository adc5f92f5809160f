using System.Diagnostics;
using Millrace.Tests.Shared;
using Millrace.Tls.Tests.Kit;
using Millrace.Tls.Tests.Quic;

namespace Millrace.Tls.Tests;

/// <summary>This suite in a process with an OpenSSL that has X25519MLKEM768, where the machine's own is older.</summary>
public class NewerOpenSslTests
{
    private static readonly TimeSpan Deadline = TimeSpan.FromMinutes(5);

    /// <summary>Those that depend on the library, and that read nothing of its program but what all versions write alike.</summary>
    private static readonly string[] Classes =
    [
        nameof(ProtocolTests), nameof(DomainValidationTests), nameof(KeyMatchTests), nameof(ResumptionTests), nameof(QuicHandshakeTests),
        nameof(RefusedHandshakeTests),
    ];

    [Fact]
    [Trait("Duration", "Long")]
    public async Task A_newer_library_agrees_on_its_post_quantum_group_and_does_all_else()
    {
        Assert.SkipWhen(Library.HasHybridGroup, "The machine's OpenSSL has it: ProtocolTests cover it.");
        var start = new ProcessStartInfo(
            Environment.ProcessPath!, ["-noColor", "-noLogo", .. Classes.SelectMany(static name => (string[])["-class", $"*.{name}"])])
        {
            RedirectStandardOutput = true,
        };
        foreach ((string name, string value) in await NewerOpenSsl.RequireAsync())
        {
            start.Environment[name] = value;
        }

        using Process process = Process.Start(start)!;
        string output = await process.StandardOutput.ReadToEndAsync(TestContext.Current.CancellationToken).WaitAsync(Deadline);
        await process.WaitForExitAsync(TestContext.Current.CancellationToken);
        Assert.True(process.ExitCode == 0, output);
        Assert.Contains("Failed: 0, Skipped: 0,", output, StringComparison.Ordinal);
    }
}

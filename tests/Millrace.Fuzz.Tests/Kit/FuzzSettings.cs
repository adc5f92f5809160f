using System.Globalization;

namespace Millrace.Fuzz.Tests.Kit;

/// <summary>What the environment asks of a run; see the script <c>fuzz</c> beside this project.</summary>
internal static class FuzzSettings
{
    /// <summary>MILLRACE_SEED: repeats a run. Otherwise every run is another one.</summary>
    public static int Seed { get; } = Number("MILLRACE_SEED") is double seed ? (int)seed : Random.Shared.Next();

    /// <summary>How long each target is run: some tenths of a second as part of the usual tests.</summary>
    public static TimeSpan Usual { get; } = TimeSpan.FromSeconds(0.5);

    /// <summary>MILLRACE_FUZZ_SECONDS for all targets together; otherwise 15 s each, minutes in all.</summary>
    public static TimeSpan Long { get; } = TimeSpan.FromSeconds(Number("MILLRACE_FUZZ_SECONDS") / FuzzTargets.Wanted.Count ?? 15);

    /// <summary>MILLRACE_FUZZ_TARGET: only this one.</summary>
    public static string? Target => Environment.GetEnvironmentVariable("MILLRACE_FUZZ_TARGET") is { Length: > 0 } name ? name : null;

    /// <summary>MILLRACE_FUZZ_INPUT: a kept input to check, and nothing else.</summary>
    public static string? Input => Environment.GetEnvironmentVariable("MILLRACE_FUZZ_INPUT") is { Length: > 0 } path ? path : null;

    /// <summary>Where inputs that failed are kept.</summary>
    public static string Folder { get; } = Directory.CreateDirectory(FindFolder()).FullName;

    private static double? Number(string variable) =>
        Environment.GetEnvironmentVariable(variable) is { Length: > 0 } text ? double.Parse(text, CultureInfo.InvariantCulture) : null;

    private static string FindFolder()
    {
        if (Environment.GetEnvironmentVariable("MILLRACE_ARTIFACTS") is { Length: > 0 } reported)
        {
            return reported;
        }

        DirectoryInfo? folder = new(AppContext.BaseDirectory);
        while (folder is not null && !File.Exists(Path.Combine(folder.FullName, "Millrace.slnx")))
        {
            folder = folder.Parent;
        }

        return Path.Combine(folder?.FullName ?? AppContext.BaseDirectory, "artifacts", "fuzz");
    }
}

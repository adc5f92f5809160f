namespace Millrace.Server.Doctor;

/// <summary>The result of one check.</summary>
/// <param name="Subject">The subject, in a word or two.</param>
/// <param name="Text">The finding, in a sentence without its full stop.</param>
/// <param name="Judgement">The effect on serving.</param>
/// <param name="Remedy">The remedy, in a sentence; empty if nothing is to be done.</param>
internal sealed record Finding(string Subject, string Text, HostCheckResult Judgement, string Remedy)
{
    public static Finding Ok(string subject, string text) => new(subject, text, HostCheckResult.Ok, "");

    public static Finding Slower(string subject, string text, string remedy) => new(subject, text, HostCheckResult.Slower, remedy);

    public static Finding Broken(string subject, string text, string remedy) => new(subject, text, HostCheckResult.Broken, remedy);
}

/// <summary>The effect of a finding on serving, from good to bad. The worst one is the exit code of <c>millrace doctor</c>.</summary>
internal enum HostCheckResult
{
    Ok = 0,

    /// <summary>Serving works, but slower or less than it could.</summary>
    Slower = 1,

    /// <summary>Serving is not possible.</summary>
    Broken = 2,
}

namespace Millrace.Server.Doctor;

/// <summary>One thing that was looked at.</summary>
/// <param name="Subject">What it is about, in a word or two.</param>
/// <param name="Text">What was found, in a sentence without its full stop.</param>
/// <param name="Judgement">What that means.</param>
/// <param name="Remedy">What to do about it, in a sentence; empty where nothing need be done.</param>
internal sealed record Finding(string Subject, string Text, Judgement Judgement, string Remedy)
{
    public static Finding Ok(string subject, string text) => new(subject, text, Judgement.Ok, "");

    public static Finding Slower(string subject, string text, string remedy) => new(subject, text, Judgement.Slower, remedy);

    public static Finding Broken(string subject, string text, string remedy) => new(subject, text, Judgement.Broken, remedy);
}

using System.Globalization;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Options;

namespace Millrace.Server;

/// <summary>What the number of a limit counts; its name is what help shows.</summary>
internal enum LimitUnit
{
    N,
    Seconds,
    Bytes,
}

/// <summary>One bound that the command line may set.</summary>
/// <param name="Name">The flag.</param>
/// <param name="Unit">What its number counts.</param>
/// <param name="Help">What it bounds, for people.</param>
/// <param name="Least">The least number that makes sense.</param>
/// <param name="Most">The largest one.</param>
/// <param name="Read">The number that limits have.</param>
/// <param name="With">The limits with another number.</param>
internal sealed record LimitFlag(
    string Name,
    LimitUnit Unit,
    string Help,
    long Least,
    long Most,
    Func<ServeLimits, long> Read,
    Func<ServeLimits, long, ServeLimits> With)
{
    /// <summary>The default as people write it.</summary>
    public string Default
    {
        get
        {
            long number = Read(new ServeLimits());
            bool isRound = Unit == LimitUnit.Bytes && number > 0 && number % 1024 == 0;
            return (isRound ? number / 1024 : number).ToString(CultureInfo.InvariantCulture) + (isRound ? "k" : "");
        }
    }

    /// <summary>The number that a text is; null, with what is wrong, where it is none for this limit.</summary>
    public long? Parse(string text, out string problem)
    {
        problem = string.Create(CultureInfo.InvariantCulture, $"'{text}' is no number for {Name}: write {Least} to {Most}.");
        try
        {
            long number = Unit == LimitUnit.Bytes ? OptionText.Size(text) : OptionText.Count(text);
            return number >= Least && number <= Most ? number : null;
        }
        catch (SiteException)
        {
            return null;
        }
    }
}

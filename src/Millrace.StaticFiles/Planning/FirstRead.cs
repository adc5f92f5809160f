using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Planning;

/// <summary>
/// Decides on a response by the first read of its file, while nothing of it is sent: the file may have changed since it was planned. For
/// any protocol.
/// </summary>
internal static class FirstRead
{
    /// <summary>A file that was saved is stable on the second attempt; a file that is written continuously never is.</summary>
    private const int AttemptsMax = 5;

    /// <param name="extent">What the head promises of the file.</param>
    /// <param name="isAsLong">Whether the read found what the head promises, or can promise if it is written again.</param>
    /// <param name="change">How the file changed until after the read.</param>
    /// <param name="attempts">How often the file was read before, in vain.</param>
    public static FirstReadOutcome Decide(BodyExtent extent, bool isAsLong, BodyChange change, int attempts)
    {
        bool isWhole = extent == BodyExtent.Whole;
        return isAsLong && (change == BodyChange.None || (change == BodyChange.Grown && extent == BodyExtent.Range)) ? FirstReadOutcome.Send
            : !isWhole ? FirstReadOutcome.Abort
            : attempts + 1 < AttemptsMax ? FirstReadOutcome.ReadAgain
            : FirstReadOutcome.Refuse;
    }
}

internal enum FirstReadOutcome
{
    Send,

    /// <summary>Read the present file, and send it without validators and to be stored by nobody.</summary>
    ReadAgain,

    /// <summary>The file is written continuously: 500.</summary>
    Refuse,

    /// <summary>The promised range or sibling is of a version that is gone: end the connection or the stream.</summary>
    Abort,
}

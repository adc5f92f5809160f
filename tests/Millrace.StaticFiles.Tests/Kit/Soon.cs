namespace Millrace.StaticFiles.Tests.Kit;

/// <summary>Looks at what was written just before. On a busy machine a look may come too late; of many in a row one does not.</summary>
internal static class Soon
{
    private const int AttemptsMax = 1_000;

    /// <summary>What was seen by the first look that came soon enough; it writes anew each time.</summary>
    public static T Seen<T>(Func<T> writeAndCheck, Func<T, bool> isSoon)
    {
        for (int i = 0; i < AttemptsMax; i++)
        {
            T seen = writeAndCheck();
            if (isSoon(seen))
            {
                return seen;
            }

            (seen as IDisposable)?.Dispose();
        }

        throw new TimeoutException("However soon the look came, what was written counted as old.");
    }
}

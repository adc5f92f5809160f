namespace Millrace.StaticFiles.Tests.Kit;

/// <summary>Checks what was written just before. On a busy machine one check may be too late; of many one is not.</summary>
internal static class RecentWrite
{
    private const int AttemptsMax = 1_000;

    /// <summary>The result of the first check that was soon enough; it writes again each time.</summary>
    public static T Check<T>(Func<T> writeAndCheck, Func<T, bool> isSoon)
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

        throw new TimeoutException("However soon the check was, what was written counted as old.");
    }
}

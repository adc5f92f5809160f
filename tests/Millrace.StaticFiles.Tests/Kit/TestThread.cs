using System.Runtime.ExceptionServices;

namespace Millrace.StaticFiles.Tests.Kit;

internal static class TestThread
{
    /// <summary>Runs on a thread that has no rights of root: tests run as root too, whom no permission stops.</summary>
    public static T AsNobody<T>(Func<T> action)
    {
        T? result = default;
        ExceptionDispatchInfo? thrown = null;
        var thread = new Thread(() =>
        {
            _ = TestCalls.SetFileSystemUser(65534);
            try
            {
                result = action();
            }
            catch (SiteException exception)
            {
                thrown = ExceptionDispatchInfo.Capture(exception);
            }
        });
        thread.Start();
        thread.Join();
        thrown?.Throw();
        return result!;
    }
}

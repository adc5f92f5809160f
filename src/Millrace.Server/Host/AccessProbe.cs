using System.Runtime.ExceptionServices;
using Millrace.Interop;
using Millrace.Interop.Threads;
using Millrace.Interop.Users;

namespace Millrace.Server.Host;

/// <summary>
/// Checks file access as another user, by the kernel's own decision: a thread takes the user's file system rights, runs the check, and
/// ends.
/// </summary>
internal static class AccessProbe
{
    /// <summary>Whether this process may check: as that user, or as root.</summary>
    public static bool MayCheckAs(ServiceUser user) => UserCalls.UserId == 0 || user.IsOwn;

    /// <summary>Runs the check with the user's file system rights, and returns its result.</summary>
    /// <exception cref="ServiceException">Only root can take another user's rights.</exception>
    public static T Check<T>(ServiceUser user, Func<T> check)
    {
        if (user.IsOwn)
        {
            return check();
        }

        T seen = default!;
        ExceptionDispatchInfo? failure = null;
        var thread = new Thread(() =>
        {
            try
            {
                int result = ThreadCalls.SetFileRights(user.Id, user.Group, [.. user.Groups]);
                seen = result == 0 ? check() : throw new ServiceException(
                    $"Cannot check what '{user.Text}' may read ({Errno.Describe(result)}): run as root, or as that user.");
            }
#pragma warning disable CA1031 // Rethrown on the caller's thread.
            catch (Exception error)
#pragma warning restore CA1031
            {
                failure = ExceptionDispatchInfo.Capture(error);
            }
        });
        thread.Start();
        thread.Join();
        failure?.Throw();
        return seen;
    }
}

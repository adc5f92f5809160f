using System.Runtime.ExceptionServices;
using Millrace.Interop;
using Millrace.Interop.Threads;
using Millrace.Interop.Users;

namespace Millrace.Server.Service;

/// <summary>
/// Looks at files as a user would, by the kernel's own judgement, whatever it goes by: a thread gets the user's rights, looks, and ends.
/// </summary>
internal static class UserEyes
{
    /// <summary>Whether this process may: as that very user, or as root.</summary>
    public static bool MayLookAs(ServiceUser user) => UserCalls.UserId == 0 || user.IsOwn;

    /// <summary>Runs it with the user's rights over files, and gives what it gives.</summary>
    /// <exception cref="ServiceException">Only root may have another's rights.</exception>
    public static T Look<T>(ServiceUser user, Func<T> look)
    {
        if (user.IsOwn)
        {
            return look();
        }

        T seen = default!;
        ExceptionDispatchInfo? failure = null;
        var thread = new Thread(() =>
        {
            try
            {
                int result = ThreadCalls.SetFileRights(user.Id, user.Group, [.. user.Groups]);
                seen = result == 0 ? look() : throw new ServiceException(
                    $"What '{user.Text}' may read cannot be told ({Errno.Describe(result)}): check as root, or as that user.");
            }
#pragma warning disable CA1031 // It is thrown again where it was asked for.
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

using System.Runtime.ExceptionServices;
using Millrace.Interop;
using Millrace.Interop.Threads;
using Millrace.Interop.Users;

namespace Millrace.Server.Host;

/// <summary>The user and group that a process changes to, from <c>NAME[:GROUP]</c>, each a name or a number.</summary>
/// <param name="Text">The configured text.</param>
/// <param name="Id">The user's ID.</param>
/// <param name="Group">The group's ID.</param>
/// <param name="Groups">All groups of the user; only that group if it was configured.</param>
internal sealed record ServiceUser(string Text, uint Id, uint Group, IReadOnlyList<uint> Groups)
{
    /// <summary>Whether the process already runs as this user and group.</summary>
    public bool IsOwn => UserCalls.UserId == Id && UserCalls.GroupId == Group;

    /// <exception cref="ServiceException">There is no such user or group, or it is root, who gives up no rights.</exception>
    public static ServiceUser Find(string text)
    {
        int colon = text.IndexOf(':', StringComparison.Ordinal);
        string name = colon < 0 ? text : text[..colon];
        Require(UserCalls.FindUser(name, out uint id, out uint group, out string called), "user", name);
        if (colon >= 0)
        {
            Require(UserCalls.FindGroup(text[(colon + 1)..], out group), "group", text[(colon + 1)..]);
        }

        if (id == 0)
        {
            throw new ServiceException($"--user {text} gives up no rights: name a user other than root, or leave --user out.")
            {
                IsMistake = true,
            };
        }

        return new ServiceUser(text, id, group, colon >= 0 ? [group] : UserCalls.GroupsOf(called, group));
    }

    private static void Require(int found, string kind, string name)
    {
        if (found <= 0)
        {
            string create = kind == "user" ? "useradd --system" : "groupadd --system";
            throw found < 0
                ? new ServiceException($"'{name}' cannot be looked up as a {kind} ({Errno.Describe(found)}): use its number.")
                : new ServiceException($"'{name}' is not a known {kind}: name another one, or create it with '{create} {name}'.")
                {
                    IsMistake = true,
                };
        }
    }
}

/// <summary>
/// Checks file access as another user, by the kernel's own decision: a thread takes the user's file system rights, runs the check, and
/// ends.
/// </summary>
internal static class AccessProbe
{
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

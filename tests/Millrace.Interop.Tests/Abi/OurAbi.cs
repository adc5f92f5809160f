using System.Globalization;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Millrace.Interop.Sockets;

namespace Millrace.Interop.Tests.Abi;

/// <summary>What the compiled Interop says: each structure's size and offsets, each constant, private ones too, by our names.</summary>
internal static class OurAbi
{
    private const BindingFlags Static = BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly;
    private const BindingFlags Instance = BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic;

    private static readonly string[] Namespaces =
    [
        "Millrace.Interop.Epoll", "Millrace.Interop.IoUring", "Millrace.Interop.Memory", "Millrace.Interop.Seccomp",
        "Millrace.Interop.Sockets", "Millrace.Interop.Watching",
    ];

    public static IReadOnlyDictionary<string, long> Read() =>
        Types().SelectMany(Facts).Concat(EngineConstants()).ToDictionary(fact => fact.Name, fact => fact.Value, StringComparer.Ordinal);

    /// <summary>ClientAddress is no structure of the kernel's.</summary>
    private static IEnumerable<Type> Types() =>
        from type in typeof(Errno).Assembly.GetTypes()
        where (type == typeof(Errno) || Namespaces.Contains(type.Namespace)) && !type.IsNested && type != typeof(ClientAddress)
        select type;

    private static IEnumerable<(string Name, long Value)> Facts(Type type)
    {
        if (type is { IsValueType: true, IsEnum: false, IsByRefLike: false })
        {
            yield return (type.Name, SizeOf(type));
            foreach (FieldInfo field in type.GetFields(Instance))
            {
                yield return ($"{type.Name}.{field.Name}", Marshal.OffsetOf(type, field.Name));
            }
        }

        // None is ours alone: C writes 0.
        foreach (FieldInfo constant in type.GetFields(Static).Where(field => field.IsLiteral && field.Name != "None"))
        {
            yield return ($"{type.Name}.{constant.Name}", ValueOf(constant));
        }
    }

    /// <summary>The one structure that the engine reads by an offset of its own.</summary>
    private static IEnumerable<(string Name, long Value)> EngineConstants()
    {
        Type progress = typeof(Engine.Reactor).Assembly.GetType("Millrace.Engine.Backends.SocketProgress", throwOnError: true)!;
        return progress.GetFields(Static).Where(field => field.IsLiteral).Select(field => ($"{progress.Name}.{field.Name}", ValueOf(field)));
    }

    private static long ValueOf(FieldInfo constant) => Convert.ToInt64(constant.GetRawConstantValue(), CultureInfo.InvariantCulture);

    private static long SizeOf(Type type) =>
        (int)typeof(Unsafe).GetMethod(nameof(Unsafe.SizeOf))!.MakeGenericMethod(type).Invoke(null, null)!;
}

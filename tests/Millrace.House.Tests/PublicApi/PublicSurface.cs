using System.Reflection;
using System.Runtime.CompilerServices;
using System.Text;

namespace Millrace.House.Tests.PublicApi;

/// <summary>What callers of an assembly can see: its public types with their public and protected members, sorted.</summary>
internal static class PublicSurface
{
    public static string Describe(IEnumerable<Type> types)
    {
        StringBuilder text = new();
        foreach (Type type in types.Where(IsVisible).OrderBy(TypeNames.OfDefinition, StringComparer.Ordinal))
        {
            text.Append(Declaration(type)).Append('\n');
            foreach (string member in MembersOf(type).Order(StringComparer.Ordinal))
            {
                text.Append("    ").Append(member).Append('\n');
            }
        }

        return text.ToString();
    }

    private static bool IsVisible(Type type) =>
        type.IsPublic || ((type.IsNestedPublic || type.IsNestedFamily || type.IsNestedFamORAssem) && IsVisible(type.DeclaringType!));

    private static string Declaration(Type type)
    {
        if (type.IsEnum)
        {
            return $"enum {TypeNames.OfDefinition(type)} : {TypeNames.Of(Enum.GetUnderlyingType(type))}";
        }

        Type[] bases = [.. new[] { type.BaseType }.OfType<Type>().Where(IsWorthNaming), .. OwnInterfaces(type)];
        return KindOf(type) + TypeNames.OfDefinition(type)
            + (bases.Length > 0 ? " : " + string.Join(", ", bases.Select(each => TypeNames.Of(each))) : "")
            + Constraints(type.GetGenericArguments());
    }

    private static string KindOf(Type type) => type switch
    {
        { IsInterface: true } => "interface ",
        { IsValueType: true } => (type.IsDefined(typeof(IsReadOnlyAttribute)) ? "readonly " : "") + (type.IsByRefLike ? "ref struct " : "struct "),
        { IsAbstract: true, IsSealed: true } => "static class ",
        { IsAbstract: true } => "abstract class ",
        { IsSealed: true } => "sealed class ",
        _ => "class ",
    };

    private static bool IsWorthNaming(Type type) =>
        type != typeof(object) && type != typeof(ValueType);

    private static IEnumerable<Type> OwnInterfaces(Type type) =>
        type.GetInterfaces()
            .Where(each => each.IsVisible && each != typeof(IEquatable<>).MakeGenericType(type))
            .Except(type.BaseType?.GetInterfaces() ?? [])
            .OrderBy(each => each.Name, StringComparer.Ordinal);

    private static string Constraints(Type[] parameters) => string.Concat(
        from parameter in parameters
        let bounds = Bounds(parameter).ToArray()
        where bounds.Length > 0
        select $" where {parameter.Name} : {string.Join(", ", bounds)}");

    private static IEnumerable<string> Bounds(Type parameter)
    {
        GenericParameterAttributes attributes = parameter.GenericParameterAttributes;
        bool isStruct = attributes.HasFlag(GenericParameterAttributes.NotNullableValueTypeConstraint);
        if (isStruct)
        {
            yield return "struct";
        }

        if (attributes.HasFlag(GenericParameterAttributes.ReferenceTypeConstraint))
        {
            yield return "class";
        }

        foreach (Type bound in parameter.GetGenericParameterConstraints().Where(IsWorthNaming))
        {
            yield return TypeNames.Of(bound);
        }

        if (!isStruct && attributes.HasFlag(GenericParameterAttributes.DefaultConstructorConstraint))
        {
            yield return "new()";
        }
    }

    private static IEnumerable<string> MembersOf(Type type)
    {
        const BindingFlags Declared = BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Instance
            | BindingFlags.Static | BindingFlags.DeclaredOnly;
        if (type.IsEnum)
        {
            return type.GetFields(BindingFlags.Public | BindingFlags.Static).Select(field => $"{field.Name} = {field.GetRawConstantValue()}");
        }

        return from member in type.GetMembers(Declared)
               where !member.Name.Contains('<', StringComparison.Ordinal) && !member.IsDefined(typeof(CompilerGeneratedAttribute))
               let signature = MemberSignatures.Of(member)
               where signature is not null
               select signature;
    }
}
